//! The limits of a request as a list: what `Server.limits` tells and the reference documents.

use super::Limits;
use crate::errors::Code;
use crate::write::facets::FACET_VALUES;
use crate::write::suggest::SUGGESTIONS;

/// A limit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedLimit {
    /// Name, such as `page-size`.
    pub name: &'static str,
    /// Maximum value.
    pub value: u64,
    /// Unit of the value.
    pub unit: LimitUnit,
    /// Code of the error of a request above the limit; `None` for a default.
    pub code: Option<Code>,
}

/// Unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Bytes.
    Bytes,
    /// Items.
    Count,
    /// Units of cost.
    Cost,
    /// Milliseconds.
    Milliseconds,
}

impl LimitUnit {
    /// Returns the name in the schema, such as `BYTES`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "BYTES",
            Self::Count => "COUNT",
            Self::Cost => "COST",
            Self::Milliseconds => "MILLISECONDS",
        }
    }
}

impl Limits {
    /// Returns the limits of a request, by name. Limits of caches and of connections are none of a
    /// request.
    pub fn list(&self) -> Vec<ListedLimit> {
        use LimitUnit::{Bytes, Cost, Count, Milliseconds};
        let size = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        let listed = |name, value, unit, code| ListedLimit {
            name,
            value,
            unit,
            code,
        };
        let time = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        vec![
            listed("aliases", self.aliases, Count, Some(Code::MaxAliases)),
            listed(
                "answer",
                size(self.response_bytes),
                Bytes,
                Some(Code::ResponseTooLarge),
            ),
            listed(
                "body",
                size(self.body_bytes),
                Bytes,
                Some(Code::RequestTooLarge),
            ),
            listed("cost", self.cost, Cost, Some(Code::CostEstimated)),
            listed(
                "default-page-size",
                size(self.default_page_size),
                Count,
                None,
            ),
            listed("depth", self.depth, Count, Some(Code::MaxDepth)),
            listed(
                "directives",
                self.directives,
                Count,
                Some(Code::MaxDirectives),
            ),
            listed(
                "facet-values",
                size(FACET_VALUES),
                Count,
                Some(Code::BadUserInput),
            ),
            listed("fields", self.fields, Count, Some(Code::CostEstimated)),
            listed(
                "installed-packages",
                size(self.installed_packages),
                Count,
                Some(Code::BadUserInput),
            ),
            listed(
                "introspection-lists",
                self.introspection_lists,
                Count,
                Some(Code::MaxDepth),
            ),
            listed(
                "list-items",
                size(self.list_items),
                Count,
                Some(Code::BadUserInput),
            ),
            listed(
                "nesting",
                size(self.nesting),
                Count,
                Some(Code::ParseFailed),
            ),
            listed(
                "node-ids",
                size(self.node_ids),
                Count,
                Some(Code::BadUserInput),
            ),
            listed(
                "page-size",
                size(self.page_size),
                Count,
                Some(Code::BadUserInput),
            ),
            listed(
                "root-fields",
                self.root_fields,
                Count,
                Some(Code::MaxRootFields),
            ),
            listed(
                "suggestions",
                size(SUGGESTIONS),
                Count,
                Some(Code::BadUserInput),
            ),
            listed("time", time, Milliseconds, Some(Code::Timeout)),
            listed("tokens", size(self.tokens), Count, Some(Code::MaxTokens)),
            listed(
                "url",
                size(self.url_bytes),
                Bytes,
                Some(Code::RequestTooLarge),
            ),
            listed("work", self.work, Cost, Some(Code::CostActual)),
        ]
    }
}
