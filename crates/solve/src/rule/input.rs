//! The variable `properties` of rules, decoded from JSON into values of the interpreter and counted
//! meanwhile.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;

use cel::common::types::{CelBool, CelDouble, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use super::cost::Size;
use crate::property::RawProperty;

/// Maximum number of values in the properties of one bundle that CEL rules look at.
//
// A value takes up to 300 bytes of memory.
pub const MAX_RULE_VALUES: u64 = 50_000;

/// The variable `properties` of a rule. Evaluations borrow it, because a clone is a deep copy.
#[derive(Debug)]
pub(crate) struct RuleInput {
    properties: Box<dyn Val>,
    size: Size,
}

impl RuleInput {
    /// Decodes properties like upstream: numbers are doubles, and invalid JSON is null. Returns
    /// `None` if they have more than [`MAX_RULE_VALUES`].
    pub(crate) fn read(properties: &[RawProperty<'_>]) -> Option<Self> {
        let mut size = Size {
            items: properties.len() as u64,
            largest: 0,
            weight: 1,
        };
        let mut values: Vec<Box<dyn Val>> = Vec::with_capacity(properties.len());
        for property in properties {
            let left = Cell::new(MAX_RULE_VALUES.saturating_sub(size.weight));
            let before = left.get();
            let counter = ValueCounter(&left);
            counter.count(1)?;
            let type_name = counter.text(&property.type_name)?;
            let value = counter.read(&property.value)?;
            let weight = before - left.get();
            size.largest = size.largest.max(weight);
            size.weight += weight;
            let entries = [
                (CelMapKey::from("type"), type_name),
                (CelMapKey::from("value"), value),
            ];
            // The interpreter's own types, although clones of them are deep copies: its lists never
            // equal lists of another type, so that `['x'] == p.value` would differ from upstream.
            values.push(Box::new(CelMap::from(HashMap::from(entries))));
        }
        Some(Self {
            properties: Box::new(CelList::from(values)),
            size,
        })
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Returns the number of its values, as [`Size`] counts them.
    pub(crate) fn weight(&self) -> u64 {
        self.size.weight
    }
}

impl VariableResolver for RuleInput {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        (variable == "properties").then(|| CowVal::Borrowed(&*self.properties))
    }
}

/// Decodes JSON values within a limit on their number.
#[derive(Clone, Copy)]
struct ValueCounter<'c>(&'c Cell<u64>);

impl ValueCounter<'_> {
    /// Counts values. Returns `None` if the limit is exceeded.
    fn count(self, weight: u64) -> Option<()> {
        let left = self.0.get().checked_sub(weight);
        self.0.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    fn text(self, text: &str) -> Option<Box<dyn Val>> {
        self.count(Size::from_text(text.len()).weight)?;
        Some(Box::new(CelString::from(text.to_owned())))
    }

    /// Decodes a value. Returns `None` if the limit is exceeded.
    fn read(self, json: &[u8]) -> Option<Box<dyn Val>> {
        let before = self.0.get();
        let exceeded = Cell::new(false);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let read = ValueReader {
            counter: self,
            exceeded: &exceeded,
        }
        .deserialize(&mut deserializer);
        match read.and_then(|value| deserializer.end().map(|()| value)) {
            Ok(value) => Some(value),
            Err(_) if exceeded.get() => None,
            Err(_) => {
                self.0.set(before);
                self.count(1)?;
                Some(Box::new(CelNull))
            }
        }
    }
}

/// Decodes one value.
#[derive(Clone, Copy)]
struct ValueReader<'c> {
    counter: ValueCounter<'c>,
    exceeded: &'c Cell<bool>,
}

impl ValueReader<'_> {
    fn count<E: Error>(self, weight: u64) -> Result<(), E> {
        self.counter.count(weight).ok_or_else(|| {
            self.exceeded.set(true);
            E::custom("too many values")
        })
    }

    fn scalar<E: Error>(self, value: impl Val + 'static) -> Result<Box<dyn Val>, E> {
        self.count(1)?;
        Ok(Box::new(value))
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Box<dyn Val>;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Box<dyn Val>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.scalar(CelNull)
    }

    fn visit_bool<E: Error>(self, is_true: bool) -> Result<Self::Value, E> {
        self.scalar(CelBool::from(is_true))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers are doubles, as upstream reads them"
    )]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.scalar(CelDouble::from(number as f64))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers are doubles, as upstream reads them"
    )]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.scalar(CelDouble::from(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        self.scalar(CelDouble::from(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.count(Size::from_text(text.len()).weight)?;
        Ok(Box::new(CelString::from(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        self.count(1)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Box::new(CelList::from(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        self.count(1)?;
        let mut map = HashMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.count(Size::from_text(key.len()).weight)?;
            map.insert(CelMapKey::from(key), entries.next_value_seed(self)?);
        }
        Ok(Box::new(CelMap::from(map)))
    }
}
