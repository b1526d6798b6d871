mod engine;
pub mod layer;
pub use engine::{Engine, EngineError};
