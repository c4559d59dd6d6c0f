//! Drawings as text. It knows nothing of catalogs and of where a drawing is printed.

use std::fmt::{self, Display};

/// Text of a label of Mermaid, in which quotes and HTML are escaped as Mermaid's entities.
#[derive(Clone, Copy, Debug)]
pub struct MermaidText<'a>(pub &'a str);

impl Display for MermaidText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' => write!(f, "#{};", u32::from(c)),
            c if c.is_control() => f.write_str(" "),
            c => write!(f, "{c}"),
        })
    }
}
