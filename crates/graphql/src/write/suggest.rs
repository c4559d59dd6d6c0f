//! `Query.suggest` and `Suggestion`.

use fbc::work::{Step, sort_steps};
use fbc::{Completion, CompletionKind, CompletionMatch};
use fbc_grammar::version::compare_api_versions;
use serving::Served;

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::SuggestionField;

/// Maximum number of completions of one `suggest`.
pub(crate) const SUGGESTIONS: usize = 50;

const KINDS: [(&str, CompletionKind); 5] = [
    ("PACKAGE", CompletionKind::Package),
    ("CATEGORY", CompletionKind::Category),
    ("PROVIDER", CompletionKind::Provider),
    ("KEYWORD", CompletionKind::Keyword),
    ("API", CompletionKind::Api),
];

impl<'a> ResponseWriter<'a> {
    /// `Query.suggest`, over some catalogs, which are in the order of their names.
    pub(super) fn suggest(
        &mut self,
        catalogs: &[&'a Served],
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let arguments = arguments(field);
        let Some(first) = self.read_first(field, SUGGESTIONS)? else {
            return Ok(());
        };
        // Only lists of strings are sorted sets.
        let names = arguments
            .get("kinds")
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let wanted = KINDS
            .iter()
            .filter(|(name, _)| names.iter().any(|wanted| wanted == name));
        let kinds: Vec<_> = wanted.map(|(_, kind)| *kind).collect();
        let text = arguments.string("text").unwrap_or_default();
        let mut found: Vec<InCatalog<'a, Completion<'a>>> = Vec::new();
        for &served in catalogs {
            let completions = served.content.catalog.complete(text, &kinds, self.work)?;
            found.extend(
                completions
                    .into_iter()
                    .map(|item| InCatalog { served, item }),
            );
        }
        self.work
            .draw(Step::SortStep, 2 * sort_steps(found.len()))?;
        // The sort is stable, so that of equal ones the catalogs are in order; of an API the newest
        // version comes first.
        found.sort_by(|one, other| {
            let [newer, older] =
                [other, one].map(|item| item.item.api.map_or("", |api| api.version));
            key(&one.item)
                .cmp(&key(&other.item))
                .then_with(|| compare_api_versions(newer, older))
        });
        found.dedup_by(|other, kept| {
            kept.item.package.is_none() && key(&other.item) == key(&kept.item)
        });
        found.truncate(first);
        self.object_list(found, field)
    }
}

/// Sort key of completions of several catalogs, by which those with one text are adjacent.
fn key<'c>(item: &Completion<'c>) -> (CompletionMatch, CompletionKind, &'c str, &'c str) {
    (
        item.found,
        item.kind,
        item.text,
        item.api.map_or("", |api| api.group),
    )
}

impl<'a> Object<'a> for InCatalog<'a, Completion<'a>> {
    type Field = SuggestionField;

    fn write(
        self,
        name: SuggestionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Completion {
            kind,
            text,
            package,
            api,
            ..
        } = self.item;
        let package = package.map(|place| self.served.content.catalog.package_at(place as usize));
        match name {
            SuggestionField::Kind => {
                let (name, _) = KINDS
                    .iter()
                    .find(|(_, other)| *other == kind)
                    .unwrap_or(&KINDS[0]);
                writer.static_string(name);
            }
            SuggestionField::Text => writer.string(text),
            SuggestionField::DisplayName => {
                let display_name = package.and_then(|package| package.summary().display_name());
                writer.optional_string(display_name.filter(|name| *name != text));
            }
            SuggestionField::Package => {
                return writer.optional_object(package.map(|package| self.with(package)), field);
            }
            SuggestionField::Api => {
                return writer.optional_object(api.map(|api| self.with(api)), field);
            }
        }
        Ok(())
    }
}
