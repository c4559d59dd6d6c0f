//! A YAML or JSON value with the lines of its parts, which messages name.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

/// A value of a configuration.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Null,
    Boolean(bool),
    /// A number as text; a version without quotes, such as `1.2`, is one.
    Number(String),
    Text(String),
    List(Vec<NodeAt>),
    Object(Vec<(String, NodeAt)>),
}

/// A value with its line.
#[derive(Clone, Debug)]
pub(crate) struct NodeAt {
    pub(crate) node: Node,
    /// Line, counted from 1; `None` in a value that is no text.
    pub(crate) line: Option<u64>,
}

impl NodeAt {
    /// Tells whether the value is `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.node, Node::Null)
    }
}

impl Node {
    /// Names the type of the value for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl From<&Value> for NodeAt {
    fn from(value: &Value) -> Self {
        let node = match value {
            Value::Null => Node::Null,
            Value::Bool(value) => Node::Boolean(*value),
            Value::Number(number) => Node::Number(number.to_string()),
            Value::String(text) => Node::Text(text.clone()),
            Value::Array(items) => Node::List(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| (name.clone(), value.into()));
                Node::Object(members.collect())
            }
        };
        Self { node, line: None }
    }
}

impl<'de> Deserialize<'de> for NodeAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Self {
            line: Some(spanned.referenced.line()),
            node: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Node::Object(members))
    }
}
