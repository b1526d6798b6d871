//! The core natively on a store, as the component does it in WebAssembly.

use oncegate_core::step::{Operation, Step};

use crate::store::Store;

/// Carries out a step and all that follow, to the outcome. The core bounds their number.
pub async fn drive<O: Operation>(mut step: Step<O>, store: &dyn Store) -> O::Output {
    loop {
        step = match step {
            Step::Load(load) => {
                let answer = store.get(load.keys()).await;
                load.loaded(answer)
            }
            Step::Commit(commit) => {
                let answer = store.commit(commit.transaction()).await;
                commit.committed(answer)
            }
            Step::Done(output) => return output,
        }
    }
}
