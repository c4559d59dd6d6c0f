//! Search: what is found and in which order, against a look at every word of every package.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testing::names::{name_parts, whole_name};

use super::model::{Package, text};
use super::packages::{counted, facets};
use super::{Community, community, display, take_nodes};
use crate::served;

/// Words that users type; each is spelled as the catalog has it, alone or as the beginning of a
/// word.
const WORDS: [&str; 24] = [
    "database",
    "Database",
    "postgres",
    "kafka",
    "prometheus",
    "argocd",
    "vault",
    "security",
    "storage",
    "amazon",
    "hat",
    "ingress",
    "backup",
    "mongo",
    "s3",
    "etcd",
    "ai",
    "observ",
    "certificate",
    "Operator",
    "grafana",
    "ibm",
    "redis",
    "dns",
];

/// Several words, which all count.
const PHRASES: [&str; 6] = [
    "red hat",
    "amazon database",
    "kafka streaming",
    "backup storage kubernetes",
    "the apache",
    "  cert--manager ",
];

/// Fields by how much a word counts there, best first.
const FIELDS: [&str; 5] = [
    "NAME",
    "DISPLAY_NAME",
    "KEYWORDS",
    "PROVIDER",
    "DESCRIPTION",
];

#[test]
fn a_word_is_found_wherever_it_stands_and_the_best_places_come_first() {
    let community = community();
    let indexed = community.indexed();
    for word in WORDS {
        let folded = words(word).remove(0);
        let mut expected: Vec<_> = indexed
            .iter()
            .filter_map(|package| Some((package.rank(word)?.place, package.name())))
            .collect();
        expected.sort_unstable();
        let literal: Vec<_> = expected.iter().map(|(_, name)| *name).collect();
        assert!(!literal.is_empty(), "{word} is a word of the catalog");
        let found = community.found(word);
        let (first, rest) = found.split_at(literal.len().min(found.len()));
        assert_eq!(first, literal, "{word}: {expected:?}");
        // Behind what has the word comes what has it but for one letter.
        for name in rest {
            let package = indexed
                .iter()
                .find(|package| package.name() == *name)
                .expect("it is in the catalog");
            assert!(
                folded.chars().count() >= 5 && package.has_nearly(&folded),
                "{word}: {name}"
            );
        }
    }
}

#[test]
fn an_edge_says_where_each_word_stands() {
    const MATCHED: &str =
        "query($search: String!) { packages(first: 500, filter: {search: $search}) {
        edges { node { name } matched } } }";
    let community = community();
    let indexed = community.indexed();
    for search in WORDS.into_iter().chain(PHRASES) {
        let data = served::data(&community.engine, MATCHED, &json!({ "search": search }));
        let edges = data["packages"]["edges"].as_array().expect("a list");
        let mut literal = 0;
        for edge in edges {
            let package = indexed
                .iter()
                .find(|package| edge["node"]["name"] == package.name())
                .expect("it is there");
            // What has a word but for one letter is not looked for in this plain way.
            let Some(rank) = package.rank(search) else {
                continue;
            };
            assert_eq!(
                edge["matched"],
                json!(rank.fields),
                "{search}: {}",
                package.name()
            );
            literal += 1;
        }
        assert!(literal > 0, "{search}");
    }
}

#[test]
fn every_word_of_a_phrase_counts() {
    let community = community();
    let indexed = community.indexed();
    for phrase in PHRASES {
        let words = words(phrase);
        let has = |package: &&Indexed<'_>| package.rank(phrase).is_some();
        let literal: BTreeSet<_> = indexed.iter().filter(has).map(Indexed::name).collect();
        assert!(!literal.is_empty(), "{phrase} is in the catalog");
        let found = community.found(phrase);
        let set: BTreeSet<_> = found.iter().map(String::as_str).collect();
        assert_eq!(set.len(), found.len(), "{phrase}");
        assert!(
            set.is_superset(&literal),
            "{phrase}: {:?} lacks",
            literal.difference(&set)
        );
        for name in set.difference(&literal) {
            let package = indexed
                .iter()
                .find(|package| package.name() == *name)
                .expect("it is in the catalog");
            let has = |word: &String| {
                package.rank(word).is_some()
                    || word.chars().count() >= 5 && package.has_nearly(word)
            };
            assert!(words.iter().all(has), "{phrase}: {name}");
        }
    }
}

#[test]
fn a_package_is_the_first_to_be_found_by_its_whole_name() {
    let community = community();
    for name in community.model.packages.keys() {
        assert_eq!(community.found(name)[0], *name);
        assert_eq!(
            community.found(&name.to_uppercase().replace('-', " "))[0],
            *name
        );
    }
}

#[test]
fn one_typo_is_forgiven_in_a_long_word_and_none_in_a_short_one() {
    let community = community();
    for (right, wrong) in [
        (
            "prometheus",
            ["promeheus", "promteheus", "prometjeus", "prommetheus"],
        ),
        ("grafana", ["grfana", "garfana", "grafxna", "graffana"]),
        ("mongodb", ["mogodb", "mongobd", "mongedb", "mmongodb"]),
    ] {
        let literal: BTreeSet<_> = community.indexed_names(right);
        for wrong in wrong {
            let found: BTreeSet<_> = community.found(wrong).into_iter().collect();
            assert!(
                found.is_superset(&literal),
                "{wrong}: {:?} lacks",
                literal.difference(&found)
            );
        }
    }
    for nothing in ["etdc", "qqqqqqqq", "xkafkaxx"] {
        assert_eq!(community.found(nothing), Vec::<String>::new(), "{nothing}");
    }
}

#[test]
fn facets_count_what_was_found() {
    let community = community();
    for search in ["database", "red hat", "zzzzzzzzz"] {
        let mut page = community
            .pages(
                "Tiles",
                &json!({ "filter": { "search": search } }),
                "/packages",
            )
            .remove(0);
        let found: BTreeSet<_> = community.found(search).into_iter().collect();
        let packages = community.model.packages.values();
        let packages: Vec<_> = packages
            .filter(|package| found.contains(package.name))
            .collect();
        assert_eq!(
            (page["totalCount"].take(), counted(&page["facets"])),
            (json!(found.len()), facets(&packages))
        );
    }
}

impl Community {
    /// Names of the packages that are found, in the order of the answer.
    #[track_caller]
    fn found(&self, search: &str) -> Vec<String> {
        let mut pages = self.pages(
            "Tiles",
            &json!({ "filter": { "search": search } }),
            "/packages",
        );
        let name = |node: Value| {
            node["name"]
                .as_str()
                .expect("a package has a name")
                .to_owned()
        };
        pages.iter_mut().flat_map(take_nodes).map(name).collect()
    }

    fn indexed(&self) -> Vec<Indexed<'_>> {
        self.model.packages.values().map(Indexed::new).collect()
    }

    fn indexed_names(&self, word: &str) -> BTreeSet<String> {
        let indexed = self.indexed();
        let having = indexed
            .iter()
            .filter(|package| package.rank(word).is_some());
        having.map(|package| package.name().to_owned()).collect()
    }
}

/// A package with the words of each of its fields: name, display name, keywords, provider,
/// descriptions.
struct Indexed<'a> {
    package: &'a Package,
    name: Vec<String>,
    title: Vec<String>,
    fields: [BTreeSet<String>; FIELDS.len()],
}

/// How well a package matches a search.
struct Rank {
    /// Distance and length of the title, less being better.
    place: (usize, usize),
    /// Fields in which words are.
    fields: Vec<&'static str>,
}

/// The distance of a word from the whole name, and its field.
#[derive(Clone, Copy)]
struct WordMatch {
    distance: usize,
    field: usize,
}

impl<'a> Indexed<'a> {
    fn new(package: &'a Package) -> Self {
        let metadata = package
            .metadata()
            .expect("packages of the corpus have metadata");
        let name = words(package.name);
        let title: Vec<_> = text(metadata, "displayName")
            .into_iter()
            .flat_map(words)
            .collect();
        let descriptions = [package.text("description"), text(metadata, "description")];
        let fields = [
            name_parts(&name).collect(),
            name_parts(&title).collect(),
            display::keywords(metadata).flat_map(words).collect(),
            display::provider(metadata)
                .into_iter()
                .flat_map(words)
                .collect(),
            descriptions.into_iter().flatten().flat_map(words).collect(),
        ];
        Self {
            package,
            name,
            title,
            fields,
        }
    }

    fn name(&self) -> &'a str {
        self.package.name
    }

    /// How well a search matches without typos: each of its words, or all of them as one.
    fn rank(&self, search: &str) -> Option<Rank> {
        let wanted = words(search);
        let distinct: BTreeSet<_> = wanted.iter().collect();
        let each: Option<Vec<_>> = distinct
            .into_iter()
            .map(|word| self.whole(word).or_else(|| self.part(word)))
            .collect();
        let joined = self
            .whole(&whole_name(&wanted))
            .or_else(|| self.part(&wanted.concat()));
        let joined = joined.filter(|_| wanted.len() > 1).map(|found| vec![found]);

        let sum = |found: &Vec<WordMatch>| found.iter().map(|one| one.distance).sum::<usize>();
        let matches = match (each, joined) {
            (Some(each), Some(joined)) if sum(&joined) < sum(&each) => joined,
            (each, joined) => each.or(joined)?,
        };
        let shown = if self.title.is_empty() {
            &self.name
        } else {
            &self.title
        };
        let place = if self.name == wanted {
            (0, 0)
        } else {
            (sum(&matches), whole_name(shown).chars().count())
        };
        let is_found = |field: &usize| matches.iter().any(|found| found.field == *field);
        let fields = (0..FIELDS.len()).filter(is_found);
        Some(Rank {
            place,
            fields: fields.map(|field| FIELDS[field]).collect(),
        })
    }

    /// The match of a word that is the whole name or display name but for generic words.
    fn whole(&self, word: &str) -> Option<WordMatch> {
        let is_name = whole_name(&self.name) == word;
        let is_title = whole_name(&self.title) == word && !self.title.is_empty();
        let is_in_name = is_name || self.name.iter().any(|part| part == word);
        (is_name || is_title).then_some(WordMatch {
            distance: 0,
            field: usize::from(!is_in_name),
        })
    }

    /// The match of the beginning of a word of one of the fields.
    fn part(&self, word: &str) -> Option<WordMatch> {
        let begins = |field: &BTreeSet<String>| field.iter().any(|other| other.starts_with(word));
        let field = self.fields.iter().position(begins)?;
        Some(WordMatch {
            distance: field + 1,
            field,
        })
    }

    /// Whether a word but for one edit begins one of the words.
    fn has_nearly(&self, word: &str) -> bool {
        self.fields
            .iter()
            .flatten()
            .any(|other| begins_nearly(other, word))
    }
}

/// Whether one edit of a word is what another one begins with: a letter less, more or other, or two
/// exchanged.
fn begins_nearly(other: &str, word: &str) -> bool {
    let (other, word): (Vec<char>, Vec<char>) = (other.chars().collect(), word.chars().collect());
    (0..=word.len()).any(|at| {
        let (before, rest) = word.split_at(at);
        let Some(left) = other.strip_prefix(before) else {
            return false;
        };
        let less = !rest.is_empty() && left.starts_with(&rest[1..]);
        let more = !left.is_empty() && left[1..].starts_with(rest);
        let wrong = !rest.is_empty() && !left.is_empty() && left[1..].starts_with(&rest[1..]);
        let swapped = rest.len() >= 2 && left.len() >= 2 && {
            (left[0], left[1]) == (rest[1], rest[0]) && left[2..].starts_with(&rest[2..])
        };
        less || more || wrong || swapped
    })
}

/// The words of a text in lower case: what letters and digits make up.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
