//! A bundle with the channel entry through which it is chosen.

use fbc::{Bundle, Channel, ChannelEntry};

/// A bundle in a channel of a catalog.
#[derive(Clone, Copy)]
pub struct ChannelBundle<'a> {
    /// Index of the catalog in those of the request.
    pub catalog: usize,
    /// The entry of the channel.
    pub entry: ChannelEntry<'a>,
}

impl<'a> ChannelBundle<'a> {
    /// Returns the bundle.
    pub fn bundle(self) -> Bundle<'a> {
        self.entry
            .bundle()
            .expect("entries without a bundle cannot be chosen")
    }

    /// Returns the channel.
    pub fn channel(self) -> Channel<'a> {
        self.entry.channel()
    }
}

impl std::fmt::Debug for ChannelBundle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ChannelBundle")
            .field(&self.channel().name())
            .field(&self.entry.name())
            .finish()
    }
}
