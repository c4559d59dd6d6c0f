//! What Rust files look like: parsed, so that neither spelling nor comments hide anything.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{Faults, Tree, catches, holds};

/// The only file with unsafe code: the memory map.
const UNSAFE: &str = "crates/store/src/file.rs";

/// What callers of a catalog fill, and no part of it.
const FILLED: [&str; 1] = ["FacetCounts"];

/// What a walk over a file finds.
#[derive(Default)]
struct Found {
    /// Lines with unsafe code, declared or used.
    unsafes: Vec<usize>,
    /// Lines of tests that are ignored.
    ignored: Vec<usize>,
    /// Lines of public methods that take `&mut self`, each with the type.
    changes: Vec<(usize, String)>,
    /// The type of the `impl` around.
    within: String,
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.within, name.unwrap_or_default());
        self.unsafes
            .extend(item.unsafety.map(|token| token.span.start().line));
        visit::visit_item_impl(self, item);
        self.within = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let takes = item
            .sig
            .receiver()
            .is_some_and(|self_| self_.mutability.is_some() && self_.reference.is_some());
        if takes && matches!(item.vis, syn::Visibility::Public(_)) {
            self.changes
                .push((item.sig.span().start().line, self.within.clone()));
        }
        self.signature(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.signature(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if item.default.is_some() {
            self.signature(&item.sig);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.unsafes.push(block.span().start().line);
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("ignore") {
            self.ignored.push(attribute.span().start().line);
        }
    }
}

impl Found {
    fn signature(&mut self, signature: &syn::Signature) {
        self.unsafes
            .extend(signature.unsafety.map(|token| token.span.start().line));
    }

    fn parse(path: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut found = Self::default();
        found.visit_file(&file);
        found
    }
}

/// Parses the files below a folder.
fn each<'t>(tree: &'t Tree, folder: &str) -> impl Iterator<Item = (&'t str, Found)> {
    tree.ending(".rs")
        .filter(move |(path, _)| path.starts_with(folder))
        .map(|(path, text)| (path, Found::parse(path, text)))
}

#[test]
fn a_file_begins_by_saying_what_it_is_for() {
    let silent = |tree: &Tree| {
        let files = tree
            .ending(".rs")
            .filter(|(_, text)| !text.starts_with("//! ") && !text.starts_with("#![no_main]"));
        files
            .map(|(path, _)| {
                format!("{path}: begin it with `//!` and what it is for and must not know")
            })
            .collect()
    };
    holds(silent);
    catches(
        silent,
        &[("src/a.rs", "// For this.\n"), ("src/a.rs", "fn a() {}")],
        &[("src/b.rs", "//! For that.\n")],
    );
}

#[test]
fn unsafe_code_is_in_one_file_and_no_test_is_ignored() {
    holds(never);
    catches(
        never,
        &[
            ("src/a.rs", "fn a() { unsafe { b() } }"),
            ("src/a.rs", "unsafe fn a() {}"),
            ("src/a.rs", "mod a { unsafe impl Send for A {} }"),
            ("src/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"),
            ("src/a.rs", "#[test]\n# [ ignore ]\nfn a() {}"),
        ],
        &[
            (UNSAFE, "fn a() { unsafe { b() } }"),
            ("src/b.rs", "// unsafe #[ignore]\nfn a() { \"unsafe\"; }"),
        ],
    );
}

fn never(tree: &Tree) -> Faults {
    let mut faults = Faults::new();
    for (path, found) in each(tree, "") {
        let unsafes = found.unsafes.iter().filter(|_| path != UNSAFE);
        faults
            .extend(unsafes.map(|line| format!("{path}:{line}: unsafe code is in {UNSAFE} only")));
        faults.extend(
            found
                .ignored
                .iter()
                .map(|line| format!("{path}:{line}: make the test run everywhere or remove it")),
        );
    }
    faults
}

#[test]
fn a_catalog_offers_nothing_that_changes_it() {
    let changes = |tree: &Tree| {
        let changes = each(tree, "crates/fbc/src/").flat_map(|(path, found)| {
            let path = path.to_owned();
            found
                .changes
                .into_iter()
                .map(move |(line, within)| (path.clone(), line, within))
        });
        let changes = changes.filter(|(_, _, within)| !FILLED.contains(&within.as_str()));
        changes
            .map(|(path, line, _)| format!("{path}:{line}: make a new catalog instead"))
            .collect()
    };
    holds(changes);
    catches(
        changes,
        &[
            (
                "crates/fbc/src/catalog.rs",
                "impl Catalog { pub fn a(&mut self) {} }",
            ),
            (
                "crates/fbc/src/package.rs",
                "impl<'a> Package<'a> {\n    pub fn a(\n        &mut self,\n    ) {}\n}",
            ),
        ],
        &[
            (
                "crates/fbc/src/catalog.rs",
                "impl FacetCounts { pub fn a(&mut self) {} }\nimpl Catalog { fn b(&mut self) {} }",
            ),
            (
                "crates/fbc-read/src/reader.rs",
                "impl Reader { pub fn a(&mut self) {} }",
            ),
        ],
    );
}
