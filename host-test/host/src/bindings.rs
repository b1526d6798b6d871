//! Generated from `wit/`.
#![allow(missing_docs, clippy::all, clippy::restriction, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "engine",
    imports: { default: async },
    exports: { default: async },
});
