//! Stand-in until the embedding is there.
#![allow(missing_docs)]
use oncegate_core::decision::*;
use oncegate_core::request::*;
#[derive(Debug)]
pub struct Engine;
#[derive(Debug)]
pub struct EngineError;
impl std::fmt::Display for EngineError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
impl Engine {
    pub fn believed_headers(&self) -> &[String] {
        &[]
    }
    pub async fn cover(&self, _: &Head) -> Result<Coverage, EngineError> {
        Err(EngineError)
    }
    pub async fn admit(&self, _: &Request, _: Conditions) -> Result<Admission, EngineError> {
        Err(EngineError)
    }
    pub async fn settle(&self, _: &Attempt, _: &Outcome) -> Result<Result<Settlement, AttemptError>, EngineError> {
        Err(EngineError)
    }
    pub async fn renew(&self, _: &Attempt) -> Result<Result<Renewal, AttemptError>, EngineError> {
        Err(EngineError)
    }
}
