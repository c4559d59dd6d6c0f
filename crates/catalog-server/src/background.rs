//! Background tasks, which run for as long as the process serves.

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;

use anyhow::anyhow;
use futures_util::FutureExt;
use tokio::task::{AbortHandle, JoinSet};

/// Tasks without which a server would miss changes. They are aborted when this is dropped.
#[derive(Default)]
pub struct BackgroundTasks(JoinSet<Option<Panicked>>);

/// The name of a task that panicked.
struct Panicked(&'static str);

impl BackgroundTasks {
    /// Spawns a task; `name` says what it does.
    pub fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        // Unwind safety: its shared state is behind locks and channels, which notice a panic.
        let task = AssertUnwindSafe(task).catch_unwind();
        self.0
            .spawn(async move { task.await.is_err().then_some(Panicked(name)) })
    }

    /// Completes with an error when a task has panicked: the process must end then, so that its
    /// supervisor starts it again. A task that ends by itself has nothing left to do.
    pub(super) async fn panicked(&mut self) -> anyhow::Error {
        while let Some(ended) = self.0.join_next().await {
            if let Ok(Some(Panicked(name))) = ended {
                return anyhow!(
                    "the task `{name}` panicked, and changes would be missed without it"
                );
            }
        }
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_named_and_others_that_end_are_not() {
        let mut tasks = BackgroundTasks::default();
        tasks.spawn("done", async {});
        tasks.spawn("aborted", pending()).abort();
        tasks.spawn("panicking", async { panic!("on purpose") });
        tasks.spawn("running", pending());
        let error = tasks.panicked().await;
        assert_eq!(
            error.to_string(),
            "the task `panicking` panicked, and changes would be missed without it"
        );
        assert!(tasks.panicked().now_or_never().is_none());
    }

    #[tokio::test]
    async fn nothing_panics_where_no_task_is() {
        assert!(
            BackgroundTasks::default()
                .panicked()
                .now_or_never()
                .is_none()
        );
    }
}
