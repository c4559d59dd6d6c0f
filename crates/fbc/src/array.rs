//! Arrays of records and texts that are read in the same way, whether this process made them or
//! they lie in a mapped file.
//!
//! A record has fields of 32 or 64 bits without padding, so that its bytes are its encoding: those
//! of a file become records without being copied, after their length and alignment are checked. A
//! text is checked for UTF-8 once. Access costs what a `Vec` costs, because the pointer to the
//! records is kept beside their owner.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use yoke::Yoke;
use yoke::erased::ErasedArcCart;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value whose bytes are its encoding in a stored index.
pub(crate) trait Stored: FromBytes + IntoBytes + Immutable + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Send + Sync + 'static> Stored for T {}

/// An immutable array.
pub(crate) struct Array<T: 'static>(Yoke<&'static [T], ErasedArcCart>);

/// An immutable text.
pub(crate) struct Text(Yoke<&'static str, ErasedArcCart>);

impl<T: Send + Sync + 'static> Array<T> {
    /// Takes a list, without its spare capacity.
    pub(crate) fn new(list: Vec<T>) -> Self {
        let owner = Arc::new(list.into_boxed_slice());
        let yoke = Yoke::<&'static [T], _>::attach_to_cart(owner, |list| &list[..]);
        Self(yoke.erase_arc_cart())
    }
}

impl<T: Stored> Array<T> {
    /// Reads bytes in place; `None` if they are no whole number of aligned records.
    pub(crate) fn from_bytes(bytes: Bytes) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let attached = Yoke::<&'static [T], _>::try_attach_to_cart(Arc::new(bytes), |bytes| {
            <[T]>::ref_from_bytes(bytes).map_err(|_| ())
        });
        Some(Self(attached.ok()?.erase_arc_cart()))
    }
}

impl Text {
    /// Takes a text, without its spare capacity.
    pub(crate) fn new(text: String) -> Self {
        let owner = Arc::new(text.into_boxed_str());
        let yoke = Yoke::<&'static str, _>::attach_to_cart(owner, |text| &text[..]);
        Self(yoke.erase_arc_cart())
    }

    /// Reads bytes in place; `None` if they are not UTF-8.
    pub(crate) fn from_bytes(bytes: Bytes) -> Option<Self> {
        let attached = Yoke::<&'static str, _>::try_attach_to_cart(Arc::new(bytes), |bytes| {
            std::str::from_utf8(bytes)
        });
        Some(Self(attached.ok()?.erase_arc_cart()))
    }
}

impl<T: 'static> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.get()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.get()
    }
}

impl<T: Send + Sync + 'static> Default for Array<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new(String::new())
    }
}

impl<T: Send + Sync + 'static> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl<'a, T: 'static> IntoIterator for &'a Array<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
