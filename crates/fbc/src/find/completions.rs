//! Completions of an unfinished text: names, display names, categories, providers, keywords and
//! kinds of APIs.

use hashbrown::{HashMap, HashSet};

use fbc_grammar::version::compare_api_versions;

use crate::catalog::Catalog;
use crate::gvk::GroupVersionKind;
use crate::ids::{NONE, id};
use crate::names::NameTable;
use crate::package::Package;
use crate::tables::completions::{
    CompletionItem, CompletionKind, CompletionMatch, Completions, CompletionsBuilder, beginning,
};
use crate::tables::search::fold::fold_text;
use crate::work::{Step, Work, WorkStopped, sort_steps};

/// A completion of a text.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'c> {
    /// Match; the best comes first.
    pub found: CompletionMatch,
    /// Kind of the completion.
    pub kind: CompletionKind,
    /// The whole text: the name of a package, the kind of an API.
    pub text: &'c str,
    /// Index of the package in the order of [`Catalog::packages`]; `None` for other kinds.
    pub package: Option<u32>,
    /// The API in its newest version; `None` for other kinds.
    pub api: Option<GroupVersionKind<'c>>,
}

impl Catalog {
    pub(crate) fn completions(&self) -> &Completions {
        self.tables.completions.get_or_init(|| collect(self))
    }

    /// Finds completions of a text of some kinds, or of every kind if there are none, best first
    /// and then by kind and text. Letter case, accents, and everything but letters and digits are
    /// ignored. Nothing completes an empty text.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn complete(
        &self,
        text: &str,
        kinds: &[CompletionKind],
        work: &Work<'_>,
    ) -> Result<Vec<Completion<'_>>, WorkStopped> {
        let text = fold_text(beginning(text));
        let text = beginning(&text);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        work.draw(Step::Word, 1)?;
        let completions = self.completions();
        let items = &completions.items;
        let keys = completions.with_beginning(text);
        work.draw(Step::FacetValue, keys.len())?;
        work.draw(Step::SortStep, 2 * sort_steps(keys.len()))?;
        let is_wanted = |item: &CompletionItem| kinds.is_empty() || kinds.contains(&item.kind());
        let wanted = keys
            .iter()
            .filter(|key| is_wanted(&items[key.item as usize]));
        let mut found: Vec<_> = wanted.map(|key| (key.item, key.found())).collect();
        found.sort_unstable();
        // Sorted by match within an item, so that its best match remains.
        found.dedup_by_key(|(at, _)| *at);
        let mut found: Vec<_> = found
            .into_iter()
            .map(|(at, found)| self.completion(&completions.names, &items[at as usize], found))
            .collect();
        found.sort_by(|one, other| {
            (one.found, one.kind, one.text).cmp(&(other.found, other.kind, other.text))
        });
        Ok(found)
    }

    fn completion<'c>(
        &'c self,
        names: &'c NameTable,
        item: &'c CompletionItem,
        found: CompletionMatch,
    ) -> Completion<'c> {
        let package = Some(item.package).filter(|&package| package != NONE);
        let text = package.map_or_else(
            || names.get(item.text),
            |place| self.package_at(place as usize).name(),
        );
        let api = (item.kind() == CompletionKind::Api).then(|| GroupVersionKind {
            group: names.get(item.group),
            version: names.get(item.version),
            kind: text,
        });
        Completion {
            found,
            kind: item.kind(),
            text,
            package,
            api,
        }
    }
}

/// Collects the completions of a catalog.
fn collect(catalog: &Catalog) -> Completions {
    let mut completions = CompletionsBuilder::new();
    for package in catalog.packages() {
        let display_name = package.summary().display_name();
        completions.add_package(id(package.place()), package.name(), display_name);
    }
    let mut categories = HashSet::new();
    let mut providers = HashSet::new();
    let mut keywords = HashSet::new();
    for summary in catalog.packages().map(Package::summary) {
        categories.extend(summary.categories());
        providers.extend(summary.provider_short_name());
        keywords.extend(summary.keywords());
    }
    let texts = [
        (CompletionKind::Category, categories),
        (CompletionKind::Provider, providers),
        (CompletionKind::Keyword, keywords),
    ];
    for (kind, texts) in texts {
        for text in texts {
            completions.add_text(kind, text);
        }
    }
    for (api, version) in newest_versions(catalog) {
        completions.add_api(GroupVersionKind { version, ..api });
    }
    completions.finish()
}

/// Returns the newest version of each API that bundles provide, by its group and kind; the version
/// of the key is empty.
fn newest_versions(catalog: &Catalog) -> HashMap<GroupVersionKind<'_>, &str> {
    let mut newest = HashMap::new();
    for api in catalog
        .bundles()
        .flat_map(|bundle| bundle.provided_apis().collect::<Vec<_>>())
    {
        let version = newest
            .entry(GroupVersionKind { version: "", ..api })
            .or_insert(api.version);
        if compare_api_versions(api.version, version).is_gt() {
            *version = api.version;
        }
    }
    newest
}
