//! Verdicts on all bundles: whether OLM v1 can install them.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Installability of a bundle by OLM v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OlmV1Installability {
    /// No hard blocker is known.
    Yes,
    /// With a feature gate that is off by default.
    TechPreview,
    /// A hard blocker is known.
    No,
    /// The catalog does not say enough.
    Unknown,
}

/// The verdict on a bundle; a preliminary one becomes final when its manifests are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstallVerdict {
    pub(crate) installability: OlmV1Installability,
    pub(crate) is_preliminary: bool,
}

/// The verdicts on all bundles by id, a byte each. They depend on the content alone, so that making
/// one final cannot be observed.
#[derive(Default)]
pub(crate) struct InstallVerdicts(Vec<AtomicU8>);

/// Bit of a preliminary verdict.
const PRELIMINARY: u8 = 1 << 7;

impl OlmV1Installability {
    /// All values, in the order of facets.
    pub const ALL: [Self; 4] = [Self::Yes, Self::TechPreview, Self::No, Self::Unknown];
}

impl InstallVerdicts {
    pub(crate) fn push(&mut self, verdict: InstallVerdict) {
        let bit = if verdict.is_preliminary {
            PRELIMINARY
        } else {
            0
        };
        self.0
            .push(AtomicU8::new(verdict.installability as u8 | bit));
    }

    /// Writes the verdicts as they are known now.
    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        let verdicts = self.0.iter().map(|verdict| verdict.load(Ordering::Relaxed));
        sections.bytes(&verdicts.collect::<Vec<_>>())
    }

    /// Reads the verdicts on so many bundles. They are copied, because they may become final.
    pub(crate) fn read(
        sections: &mut SectionReader,
        bundles: usize,
    ) -> Result<Self, StoredIndexError> {
        let verdicts = sections.bytes()?;
        let is_verdict =
            |verdict: &u8| usize::from(verdict & !PRELIMINARY) < OlmV1Installability::ALL.len();
        sections.check(verdicts.len() == bundles && verdicts.iter().all(is_verdict))?;
        Ok(Self(verdicts.iter().copied().map(AtomicU8::new).collect()))
    }

    /// Returns the verdict on a bundle.
    pub(crate) fn get(&self, bundle: usize) -> InstallVerdict {
        // Relaxed, because a verdict guards no other memory, and every thread finds the same one.
        let byte = self.0[bundle].load(Ordering::Relaxed);
        InstallVerdict {
            installability: OlmV1Installability::ALL[usize::from(byte & !PRELIMINARY)],
            is_preliminary: byte & PRELIMINARY != 0,
        }
    }

    /// Makes the verdict on a bundle final.
    pub(crate) fn set(&self, bundle: usize, installability: OlmV1Installability) {
        self.0[bundle].store(installability as u8, Ordering::Relaxed);
    }
}
