//! What a subject showed in one step.

use oncegate_core::decision::Held;
use oncegate_core::request::{Field, Response};

use crate::expect::{DecisionName, KnowledgeName, StandingName};

/// What a subject showed in one step. What does not apply is `None`.
#[derive(Debug, Default)]
pub struct Seen {
    /// From where it was seen.
    pub sight: Sight,
    /// The table's row; over HTTP only where the answer names it.
    pub row: Option<String>,
    /// What was decided.
    pub decision: Option<DecisionName>,
    /// The client's answer.
    pub response: Option<Response>,
    /// How often the origin has been called in this case.
    pub origin_calls: u64,
    /// Store reads.
    pub gets: u64,
    /// Store commits.
    pub commits: u64,
    /// The attempt that was admitted or renewed.
    pub attempt: Option<SeenAttempt>,
    /// The header fields that the origin gets.
    pub sent: Vec<Field>,
    /// What the outcome says.
    pub knowledge: Option<KnowledgeName>,
    /// How firmly it is recorded.
    pub standing: Option<StandingName>,
    /// Whether the operator must hear of it.
    pub alarm: Option<bool>,
    /// Whether the record was changed.
    pub resolved: Option<bool>,
    /// The record.
    pub held: Option<Held>,
    /// Why the attempt cannot be judged.
    pub error: Option<String>,
}

/// From where a step is seen.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    #[default]
    Inside,
    /// The client's answers and the origin's calls.
    Outside,
}

/// What was seen of an attempt.
#[derive(Debug)]
pub struct SeenAttempt {
    /// Its fence.
    pub fence: u32,
    /// Tries so far.
    pub tries: Option<u32>,
    /// `new`, or the first attempt of its action.
    pub action_of: String,
    /// When the answer must be complete, after the case's start.
    pub answer_by: Option<u64>,
}
