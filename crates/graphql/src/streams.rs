//! State that all subscriptions share: texts of events, permits, and the end of all streams.

use std::sync::{Mutex, PoisonError};

use admission::{FairSemaphore, Peer};
use bytes::Bytes;
use fbc_grammar::Digest;
use serving::Revision;
use tokio::sync::watch;

/// Maximum number of event texts that are shared between the streams.
pub(super) const SHARED_TEXTS: usize = 64;

/// Maximum size of a shared event text, in bytes.
pub(super) const SHARED_TEXT_BYTES: usize = 256 << 10;

/// Maximum number of events that are written at one time, half of them for one peer: more than
/// there are processors would only take memory.
pub(super) const CONCURRENT_EVENTS: usize = 4;

/// State shared by all subscriptions.
pub(super) struct Streams {
    /// True once streams must end. Each stream holds a receiver.
    pub(super) ending: watch::Sender<bool>,
    /// Permits of events, from when they are written until the transport accounts for their bytes.
    pub(super) events: FairSemaphore<Peer>,
    shared: Mutex<SharedTexts>,
}

/// Texts of events since the last change of the published set, so that streams with equal requests
/// share them.
#[derive(Default)]
struct SharedTexts {
    /// Revision of the published set.
    revision: Revision,
    texts: Vec<(EventKey, Bytes)>,
}

/// Key of an event's text: everything that the text depends on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct EventKey {
    pub(super) request: Digest,
    /// Revision of the catalogs that the caller sees.
    pub(super) revision: Revision,
    /// Name of the catalog.
    pub(super) name: String,
    /// Digest of the content that was reported last; `None` for a new catalog.
    pub(super) before: Option<Digest>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            ending: watch::Sender::new(false),
            events: FairSemaphore::new(CONCURRENT_EVENTS),
            shared: Mutex::default(),
        }
    }
}

impl Streams {
    /// Returns the text of an event that another stream has written for this state of the published
    /// set.
    pub(super) fn shared_text(&self, revision: Revision, key: &EventKey) -> Option<Bytes> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut texts = shared.texts.iter().filter(|_| shared.revision == revision);
        texts
            .find(|(other, _)| other == key)
            .map(|(_, text)| text.clone())
    }

    /// Shares the text of an event.
    pub(super) fn share(&self, revision: Revision, key: EventKey, text: &Bytes) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.revision != revision || shared.texts.len() >= SHARED_TEXTS {
            *shared = SharedTexts {
                revision,
                texts: Vec::new(),
            };
        }
        shared.texts.push((key, text.clone()));
    }
}
