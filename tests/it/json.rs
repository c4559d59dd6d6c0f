//! JSON whose order of keys and digits of numbers are kept, so that answers can be compared whole.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Columns of a line that is pleasant to read.
const WIDTH: usize = 120;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `null`, `true`, `false` or a number, as it stands there.
    Plain(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn null() -> Self {
        Json::Plain("null".into())
    }

    /// Reads a value. The tests read only what they know to be JSON.
    #[track_caller]
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim();
        let broken = |error: serde_json::Error| -> ! { panic!("{error}: {text}") };
        match text.as_bytes().first() {
            Some(b'"') => {
                Json::Text(serde_json::from_str(text).unwrap_or_else(|error| broken(error)))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> =
                    serde_json::from_str(text).unwrap_or_else(|error| broken(error));
                Json::List(
                    items
                        .into_iter()
                        .map(|item| Json::read(item.get()))
                        .collect(),
                )
            }
            Some(b'{') => {
                let Members(members) =
                    serde_json::from_str(text).unwrap_or_else(|error| broken(error));
                Json::Object(
                    members
                        .into_iter()
                        .map(|(key, member)| (key, Json::read(member.get())))
                        .collect(),
                )
            }
            _ => Json::Plain(text.to_owned()),
        }
    }

    /// The member of this name, when it is an object that has one.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, member)| member),
            _ => None,
        }
    }

    /// The items; none when it is no list.
    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// Over several lines, each value that fits on one line on one.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::new();
        self.print_pretty(0, 0, &mut out);
        out
    }

    fn print_pretty(&self, indent: usize, before: usize, out: &mut String) {
        let line = self.to_string();
        let (open, close, members): (_, _, Vec<(Option<&str>, &Json)>) = match self {
            _ if indent + before + line.chars().count() < WIDTH => return out.push_str(&line),
            Json::List(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            Json::Object(members) => (
                '{',
                '}',
                members
                    .iter()
                    .map(|(key, member)| (Some(key.as_str()), member))
                    .collect(),
            ),
            Json::Plain(_) | Json::Text(_) => return out.push_str(&line),
        };
        out.push(open);
        let inner = indent + 2;
        for (at, (key, member)) in members.iter().enumerate() {
            out.push_str(if at == 0 { "\n" } else { ",\n" });
            out.extend(std::iter::repeat_n(' ', inner));
            let key = key
                .map(|key| format!("{}: ", Json::Text(key.to_owned())))
                .unwrap_or_default();
            out.push_str(&key);
            member.print_pretty(inner, key.chars().count(), out);
        }
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
        out.push(close);
    }
}

/// On one line.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &String| serde_json::to_string(text).expect("a string is JSON");
        let separator = |at: usize| if at == 0 { "" } else { ", " };
        match self {
            Json::Plain(plain) => f.write_str(plain),
            Json::Text(value) => f.write_str(&text(value)),
            Json::List(items) => {
                f.write_str("[")?;
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, item)| write!(f, "{}{item}", separator(at)))?;
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                let mut members = members.iter().enumerate();
                members.try_for_each(|(at, (key, member))| {
                    write!(f, "{}{}: {member}", separator(at), text(key))
                })?;
                f.write_str("}")
            }
        }
    }
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
