//! The files of each case.

use std::iter;

/// Bytes of the files of a case, roughly.
const SIZE: usize = 6 * 1024 * 1024;

/// Files that cost much memory to load.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Path and text of each.
    pub(crate) files: fn() -> Vec<(String, String)>,
    /// What the outcome says: part of the counts of problems, or of the error.
    pub(crate) outcome: &'static str,
}

pub(crate) const CASES: [Case; 41] = [
    case(
        "empty documents",
        || one(&"---\n".repeat(1_000_000)),
        "500000 DOCUMENT_EMPTY",
    ),
    case(
        "too many empty documents",
        || one(&many("---\n")),
        "documents, which is the most",
    ),
    case(
        "blobs without fields",
        || one(&many("{}")),
        "have more than",
    ),
    case(
        "lines without fields",
        || one(&many("{}\n")),
        "have more than",
    ),
    case(
        "packages without channels",
        || one(&numbered("{\"schema\":\"olm.package\",\"name\":\"#\"}")),
        "PACKAGE_WITHOUT_CHANNELS",
    ),
    case(
        "equal packages",
        || one(&many("{\"schema\":\"olm.package\",\"name\":\"a\"}")),
        "PACKAGE_DUPLICATE",
    ),
    case(
        "malformed bundles",
        || one(&many("{\"schema\":\"olm.bundle\",\"image\":1}")),
        "BLOB_MALFORMED",
    ),
    case(
        "bundles of no package",
        || one(&many("{\"schema\":\"olm.bundle\"}")),
        "BUNDLE_PACKAGE_MISSING",
    ),
    case(
        "equal entries",
        || one(&in_channel("entries", "{\"name\":\"a\"}")),
        "CHANNEL_ENTRY_DUPLICATE",
    ),
    case(
        "entries of several names",
        || one(&in_channel("entries", "{\"name\":\"#\"}")),
        "CHANNEL_MULTIPLE_HEADS",
    ),
    case(
        "entries that replace others",
        || {
            one(&in_channel(
                "entries",
                "{\"name\":\"#\",\"replaces\":\"x#\"}",
            ))
        },
        "CHANNEL_MULTIPLE_HEADS",
    ),
    case(
        "entries without fields",
        || one(&in_channel("entries", "{}")),
        "have more than",
    ),
    case(
        "skips without names",
        || {
            one(&in_channel(
                "entries",
                "{\"skips\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}",
            ))
        },
        "have more than",
    ),
    case(
        "YAML entries without fields",
        || one(&yaml("olm.channel", "entries", "-\n")),
        "have more than",
    ),
    case(
        "YAML properties without fields",
        || one(&yaml("olm.bundle", "properties", "-\n")),
        "have more than",
    ),
    case(
        "YAML deprecations without fields",
        || one(&yaml("olm.deprecations", "entries", "-\n")),
        "have more than",
    ),
    case(
        "properties of wrong types",
        || one(&properties("{\"type\":\"olm.package\",\"value\":1}")),
        "BUNDLE_PROPERTY_MALFORMED",
    ),
    case(
        "YAML images without fields",
        || one(&yaml("olm.bundle", "relatedImages", "-\n")),
        "BUNDLE_NOT_IN_CHANNEL",
    ),
    case(
        "blobs of as many schemas",
        || one(&numbered("{\"schema\":\"#\"}")),
        "",
    ),
    case(
        "blobs of as many names",
        || one(&numbered("{\"name\":\"#\"}")),
        "SCHEMA_MISSING",
    ),
    case(
        "bundles of as many names",
        || {
            one(&numbered(
                "{\"schema\":\"olm.bundle\",\"name\":\"#\",\"package\":\"q#\"}",
            ))
        },
        "BUNDLE_PACKAGE_UNKNOWN",
    ),
    case(
        "properties of as many APIs",
        || {
            one(&properties(
                "{\"type\":\"olm.gvk\",\"value\":{\"kind\":\"k#\"}}",
            ))
        },
        "BUNDLE",
    ),
    case(
        "a blob of many members",
        || one(&format!("{{{}\"a\":0}}", numbered("\"x#\":0,"))),
        "SCHEMA_MISSING",
    ),
    case(
        "a blob of many members in another order",
        || one(&format!("{{{}\"a\":0}}", descending())),
        "SCHEMA_MISSING",
    ),
    case(
        "two blobs of equal members",
        || two(&format!("{{{}\"\":0}}", "\"\":0,".repeat(990_000))),
        "SCHEMA_MISSING",
    ),
    case(
        "two flow sequences",
        || two(&format!("a: [{}~]", many("~,"))),
        "indicator",
    ),
    case(
        "two flow mappings",
        || two(&flow(600_000, 8, '{', '}')),
        "indicator characters",
    ),
    case(
        "two flow sequences below the limit",
        || two(&flow(113_000, 2, '[', ']').repeat(18)),
        "SCHEMA_MISSING",
    ),
    case(
        "two long flow mappings below the limit",
        || two(&flow(480_000, 12, '{', '}')),
        "SCHEMA_MISSING",
    ),
    case(
        "two sequences of scalars",
        || two(&format!("a:\n{}", many("- 1\n"))),
        "SCHEMA_MISSING",
    ),
    case(
        "two mappings of equal keys",
        || two(&numbered("#: 1\n0x#: 2\n")),
        "indicator",
    ),
    case(
        "two files of aliases",
        || two(&format!("a: &a {{b: 1}}\nc:\n{}", many("- *a\n"))),
        "indicator",
    ),
    case(
        "aliases of long scalars",
        || one(&long_aliases()),
        "bytes of blobs: write out",
    ),
    case(
        "two files of long scalars",
        || two(&format!("a: \"{}\"", many("\\x00"))),
        "SCHEMA_MISSING",
    ),
    case(
        "a name as long as a blob",
        long_name,
        "CHANNEL_ENTRY_DUPLICATE",
    ),
    case(
        "a name of many words",
        || {
            one(&format!(
                "{{\"schema\":\"olm.package\",\"name\":\"{}\"}}",
                many("a-")
            ))
        },
        "PACKAGE_NAME_INVALID",
    ),
    case(
        "a life cycle of many versions",
        life_cycle,
        "BUNDLE_NOT_IN_CHANNEL",
    ),
    case(
        "YAML that grows with each repair",
        repaired,
        "invalid indentation in quoted scalar",
    ),
    case(
        "patterns of many parts",
        || ignoring(&("a/".repeat(32_000) + "b\n").repeat(16)),
        "DEFAULT_CHANNEL",
    ),
    case(
        "patterns of many letters",
        || ignoring(&("*".repeat(65_000) + "x\n").repeat(16)),
        "DEFAULT_CHANNEL",
    ),
    case(
        "files of one byte",
        || {
            (0..2_000)
                .map(|at| (format!("{at}"), "\n".to_owned()))
                .collect()
        },
        "2000 DOCUMENT_EMPTY",
    ),
];

const fn case(
    name: &'static str,
    files: fn() -> Vec<(String, String)>,
    outcome: &'static str,
) -> Case {
    Case {
        name,
        files,
        outcome,
    }
}

/// One file with this text.
fn one(text: &str) -> Vec<(String, String)> {
    vec![("catalog.yaml".to_owned(), text.to_owned())]
}

/// A file beside patterns that exclude others.
fn ignoring(patterns: &str) -> Vec<(String, String)> {
    let package = r#"{"schema":"olm.package","name":"p"}"#;
    vec![
        (".indexignore".to_owned(), patterns.to_owned()),
        ("catalog.json".to_owned(), package.to_owned()),
    ]
}

/// Two files with this text, which are read at the same time.
fn two(text: &str) -> Vec<(String, String)> {
    ["a.yaml", "b.yaml"]
        .map(|path| (path.to_owned(), text.to_owned()))
        .to_vec()
}

/// Documents that are two hundred times as large when their aliases are written out.
fn long_aliases() -> String {
    let document = format!(
        "a: &a \"{}\"\nb:\n{}---\n",
        "x".repeat(1_000),
        "- *a\n".repeat(5_000)
    );
    document.repeat(SIZE / document.len())
}

/// A document with a flow collection of as many items, each of as many letters.
fn flow(items: usize, letters: usize, open: char, close: char) -> String {
    let items: Vec<_> = (0..items)
        .map(|number| format!("a{number:0width$}", width = letters - 1))
        .collect();
    format!("a: {open}{}{close}\n---\n", items.join(","))
}

/// Members whose keys are in falling order.
fn descending() -> String {
    let members: Vec<_> = (0..SIZE / 12)
        .rev()
        .map(|number| format!("\"x{number:06}\":0"))
        .collect();
    members.join(",") + ","
}

/// A text as often as it fits.
fn many(text: &str) -> String {
    text.repeat(SIZE / text.len())
}

/// A text as often as it fits, with a number for each `#`.
fn numbered(text: &str) -> String {
    let mut all = String::with_capacity(SIZE + text.len() + 20);
    for number in 0.. {
        all.push_str(&text.replace('#', &format!("{number:x}")));
        if all.len() >= SIZE {
            break;
        }
    }
    all
}

/// A channel with as many items of a list as fit.
fn in_channel(field: &str, item: &str) -> String {
    let items = numbered(&format!("{item},"));
    let package = "{\"schema\":\"olm.package\",\"name\":\"p\"}\n";
    let items = items.trim_end_matches(',');
    format!(
        "{package}{{\"schema\":\"olm.channel\",\"name\":\"c\",\"package\":\"p\",\"{field}\":[{items}]}}"
    )
}

/// A blob with as many items of a list as fit.
fn yaml(schema: &str, field: &str, item: &str) -> String {
    format!(
        "schema: {schema}\npackage: p\nname: b\n{field}:\n{}---\nschema: olm.package\nname: p\n",
        many(item)
    )
}

/// Bundles that have a hundred such properties each.
fn properties(property: &str) -> String {
    let list: Vec<_> = iter::repeat_n(property, 100).collect();
    let bundle = format!(
        "{{\"schema\":\"olm.bundle\",\"name\":\"#\",\"package\":\"p\",\"properties\":[{}]}}\n",
        list.join(",")
    );
    format!(
        "{{\"schema\":\"olm.package\",\"name\":\"p\"}}\n{}",
        numbered(&bundle)
    )
}

/// Bundles of one minor version that say each something else of platforms, and a life cycle that
/// lists many for them.
fn life_cycle() -> Vec<(String, String)> {
    let versions = many("\"4.1\",");
    let bundles = (0..100).map(|at| {
        format!(
            "{{\"schema\":\"olm.bundle\",\"name\":\"b{at}\",\"package\":\"p\",\"properties\":[\
             {{\"type\":\"olm.package\",\"value\":{{\"packageName\":\"p\",\"version\":\"1.0.{at}\"}}}},\
             {{\"type\":\"olm.csv.metadata\",\"value\":{{\"minKubeVersion\":\"1.{at}.0\"}}}}]}}\n"
        )
    });
    one(&format!(
        "{{\"schema\":\"olm.package\",\"name\":\"p\"}}\n{}\
         {{\"schema\":\"io.openshift.operators.lifecycles.v1alpha1\",\"package\":\"p\",\"versions\":[{{\"name\":\"1.0\",\
         \"platformCompatibility\":[{{\"name\":\"openshift\",\"versions\":[{}]}}]}}]}}\n",
        bundles.collect::<String>(),
        versions.trim_end_matches(',')
    ))
}

/// Quoted scalars that are indented too little, the lines of each three times as many as those of
/// the one before, behind a line that makes each repair large.
fn repaired() -> Vec<(String, String)> {
    let scalars = (0..9).map(|at| format!("  b{at}: \"x{}\"\n", "\ny".repeat(2 * 3_usize.pow(at))));
    one(&format!(
        "{}\na:\n{}",
        " ".repeat(SIZE / 6),
        scalars.collect::<String>()
    ))
}

/// A package whose name is a third of the file, in which everything is wrong.
fn long_name() -> Vec<(String, String)> {
    let name = "p".repeat(SIZE / 3);
    let entries = iter::repeat_n("{\"name\":\"a\"}", 20_000)
        .collect::<Vec<_>>()
        .join(",");
    one(&format!(
        "{{\"schema\":\"olm.package\",\"name\":\"{name}\"}}\n\
         {{\"schema\":\"olm.channel\",\"name\":\"c\",\"package\":\"{name}\",\"entries\":[{entries}]}}\n"
    ))
}
