//! Answers to questions: each is asked once at a time, and its answer is believed for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use crate::cache::{Answer, Cache};
use crate::key::Key;
use crate::{CACHED_ANSWERS, Denied};

/// An answer that is there, or that the API server owes.
type Reply<V> = Result<Answer<V>, Denied>;

/// A question that is being asked, as long as somebody waits for its answer.
type Asking<V> = BoxFuture<'static, Reply<V>>;

/// Answers of one kind. Clones share everything.
pub(crate) struct Answers<V: Clone>(Arc<Remembered<V>>);

struct Remembered<V: Clone> {
    cache: Cache<Key, V>,
    /// What is being asked, and what was asked just now.
    asked: Mutex<HashMap<Key, WeakShared<Asking<V>>>>,
}

impl<V: Clone + Send + Sync + 'static> Answers<V> {
    /// Creates an empty cache of answers, of which these are refusals.
    pub(crate) fn new(is_refusal: fn(&V) -> bool) -> Self {
        Self(Arc::new(Remembered {
            cache: Cache::new(CACHED_ANSWERS, is_refusal),
            asked: Mutex::default(),
        }))
    }

    /// Returns the answer that is believed.
    pub(crate) fn known(&self, key: &Key) -> Option<Answer<V>> {
        self.0.cache.get_until(key)
    }

    /// Returns the last answer though it may be believed no longer, if it is no refusal and not
    /// forgotten yet.
    pub(crate) fn former(&self, key: &Key) -> Option<V> {
        self.0.cache.former(key)
    }

    /// Lets the time of all answers be over.
    #[cfg(test)]
    pub(crate) fn expire(&self) {
        self.0.cache.expire();
    }

    /// Returns the answer that is believed, or asks. Who has the same question meanwhile gets the
    /// same answer. What is not answered is not remembered.
    pub(crate) async fn get(
        &self,
        key: Key,
        ask: impl Future<Output = Reply<V>> + Send + 'static,
    ) -> Reply<V> {
        let asked = {
            let mut all = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(asked) = all.get(&key).and_then(WeakShared::upgrade) {
                asked
            } else if let Some(known) = self.known(&key) {
                // An answer is remembered before its question is forgotten.
                return Ok(known);
            } else {
                all.retain(|_, asked| asked.upgrade().is_some());
                let asked = self.asked(key, ask);
                all.extend(asked.downgrade().map(|asked| (key, asked)));
                asked
            }
        };
        asked.await
    }

    fn asked(
        &self,
        key: Key,
        ask: impl Future<Output = Reply<V>> + Send + 'static,
    ) -> Shared<Asking<V>> {
        let remembered = Arc::clone(&self.0);
        let ask = async move {
            let answer = ask.await?;
            remembered.cache.insert(key, answer.clone());
            Ok(answer)
        };
        ask.boxed().shared()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::{join, pending};
    use tokio::sync::oneshot;

    use super::*;

    const TIME: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn equal_questions_are_asked_once_at_a_time_and_others_beside_them() {
        let answers = Answers::new(|_| false);
        let (sender, receiver) = oneshot::channel();
        let first = answers.get([1; 32], async {
            Ok(Answer::lasting(receiver.await.unwrap(), TIME))
        });
        let second = answers.get([1; 32], async { panic!("it is asked already") });
        let other = async {
            let answer = answers
                .get([2; 32], async { Ok(Answer::lasting("other", TIME)) })
                .await;
            sender.send("one").unwrap();
            answer
        };
        let ((first, second), other) = join(join(first, second), other).await;
        assert_eq!(
            [first, second, other].map(|reply| reply.unwrap().value),
            ["one", "one", "other"]
        );
        let known = answers.get([1; 32], async { panic!("it is known") }).await;
        assert_eq!(known.unwrap().value, "one");
    }

    #[tokio::test]
    async fn a_question_is_answered_though_who_asked_it_first_is_gone() {
        let answers = Answers::new(|_| false);
        let (sender, receiver) = oneshot::channel();
        let mut first = Box::pin(answers.get([1; 32], async {
            Ok(Answer::lasting(receiver.await.unwrap(), TIME))
        }));
        let mut second = Box::pin(answers.get([1; 32], pending()));
        assert!(
            first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none()
        );
        drop(first);
        sender.send("one").unwrap();
        assert_eq!(second.await.unwrap().value, "one");
    }

    #[tokio::test]
    async fn who_waits_for_no_answer_leaves_nothing_behind() {
        let answers = Answers::<&str>::new(|_| false);
        for number in 0..100 {
            assert!(
                answers
                    .get([number; 32], pending())
                    .now_or_never()
                    .is_none()
            );
        }
        assert_eq!(answers.0.asked.lock().unwrap().len(), 1);
        let denied = answers
            .get([1; 32], async { Err(Denied::Unavailable) })
            .await;
        assert_eq!(denied, Err(Denied::Unavailable));
        let answer = answers
            .get([1; 32], async { Ok(Answer::lasting("one", TIME)) })
            .await;
        assert_eq!(answer.unwrap().value, "one", "no answer is not remembered");
    }
}
