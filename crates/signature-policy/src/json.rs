//! JSON objects without unknown or repeated members, one level at a time.
//!
//! A policy with a misspelled member must not mean something weaker than its author wrote, so
//! nothing is ignored.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An error in the structure of a document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    /// The text is not JSON, or a value has another type.
    #[error("{0}")]
    Syntax(#[from] serde_json::Error),
    /// A member is not known.
    #[error("the member `{0}` is unknown")]
    Unknown(String),
    /// A member is repeated.
    #[error("the member `{0}` is repeated")]
    Repeated(String),
    /// A member is missing.
    #[error("the member `{0}` is missing")]
    Missing(&'static str),
}

/// The members of an object, in their order.
#[derive(Debug)]
pub(crate) struct JsonObject<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonObject<'a> {
    /// Parses an object; each member name occurs once.
    pub(crate) fn parse(text: &'a str) -> Result<Self, JsonError> {
        let Members(members) = serde_json::from_str(text)?;
        for (at, (name, _)) in members.iter().enumerate() {
            if members[..at].iter().any(|(other, _)| other == name) {
                return Err(JsonError::Repeated(name.clone()));
            }
        }
        Ok(Self(members))
    }

    /// Parses an object with these members at most.
    pub(crate) fn with_members(text: &'a str, known: &[&str]) -> Result<Self, JsonError> {
        let object = Self::parse(text)?;
        let unknown = |(name, _): &&(String, _)| !known.contains(&name.as_str());
        match object.0.iter().find(unknown) {
            Some((name, _)) => Err(JsonError::Unknown(name.clone())),
            None => Ok(object),
        }
    }

    /// Parses an object with exactly these members.
    pub(crate) fn with_exactly(text: &'a str, known: &[&'static str]) -> Result<Self, JsonError> {
        let object = Self::with_members(text, known)?;
        match known.iter().find(|name| object.get(name).is_none()) {
            Some(missing) => Err(JsonError::Missing(missing)),
            None => Ok(object),
        }
    }

    /// Returns the text of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let mut members = self.0.iter();
        let (_, value) = members.find(|(other, _)| other == name)?;
        Some(value.get())
    }

    /// Reads a member of a type; `None` if it is absent.
    pub(crate) fn read<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, JsonError> {
        match self.get(name) {
            Some(text) => Ok(Some(serde_json::from_str(text)?)),
            None => Ok(None),
        }
    }

    /// Reads a member that must be present.
    pub(crate) fn require<T: Deserialize<'a>>(&self, name: &'static str) -> Result<T, JsonError> {
        self.read(name)?.ok_or(JsonError::Missing(name))
    }

    /// Returns the members with the texts of their values.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.get()))
    }
}

/// Reads an array as the texts of its elements.
pub(crate) fn elements(text: &str) -> Result<Vec<&str>, JsonError> {
    let elements: Vec<&RawValue> = serde_json::from_str(text)?;
    Ok(elements.into_iter().map(RawValue::get).collect())
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
