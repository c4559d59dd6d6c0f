//! Which catalogs are wanted: from the command line and from the configuration file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::catalogs::About;
use crate::load::{CatalogName, Wanted};
use crate::source::Source;

/// The configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    sources: Vec<ConfigSource>,
}

/// One catalog of the configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConfigSource {
    /// The last part of the path, when absent.
    name: Option<String>,
    /// `dir:PATH` or PATH; a relative path starts at the folder of the file.
    source: String,
    #[serde(default)]
    priority: i32,
    display_name: Option<String>,
    publisher: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Every catalog that the command line and the file name, in that order; no two of one name.
pub(super) fn wanted(arguments: &[String], config: Option<&Path>) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for argument in arguments {
        let (name, source) = split(argument);
        wanted.push(one(name, source, Path::new(""), About::default())?);
    }
    if let Some(path) = config {
        let read = read_config(path).with_context(|| format!("cannot use the configuration `{}`", path.display()));
        wanted.extend(read?);
    }
    if wanted.is_empty() {
        bail!("no catalog is named, neither as an argument nor in the configuration");
    }
    let mut names: Vec<_> = wanted.iter().map(|wanted| &wanted.name).collect();
    names.sort();
    if let Some([same, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("two catalogs are called `{same}`: write NAME=SOURCE to give one of them another name");
    }
    Ok(wanted)
}

fn read_config(path: &Path) -> anyhow::Result<Vec<Wanted>> {
    let text = fs::read_to_string(path)?;
    let config: Config = serde_saphyr::from_str(&text)?;
    let folder = path.parent().unwrap_or(path);
    let wanted = config.sources.into_iter().map(|source| {
        let about = About {
            priority: source.priority,
            display_name: source.display_name,
            publisher: source.publisher,
            labels: source.labels,
        };
        one(source.name.as_deref(), &source.source, folder, about)
    });
    wanted.collect()
}

/// `NAME=SOURCE` in its parts. What is before `=` is a name unless it can only be the beginning of a source.
fn split(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((name, source)) if !name.contains(['/', ':']) => (Some(name), source),
        _ => (None, argument),
    }
}

fn one(name: Option<&str>, source: &str, folder: &Path, about: About) -> anyhow::Result<Wanted> {
    let parsed = Source::parse(source, folder)?;
    let name = if let Some(name) = name {
        CatalogName::new(name)?
    } else {
        let part = parsed.last_part().unwrap_or_default();
        CatalogName::new(&part).with_context(|| format!("`{source}` needs a name: write NAME={source}"))?
    };
    Ok(Wanted { name, source: parsed, about })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        folder
    }

    fn wanted_in(folder: &Path, arguments: &[&str], config: Option<&str>) -> Result<Vec<Wanted>, String> {
        let arguments: Vec<_> = arguments.iter().map(|text| text.replace('@', folder.to_str().unwrap())).collect();
        let path = folder.join("catalogs.yaml");
        fs::write(&path, config.unwrap_or_default()).unwrap();
        let wanted = wanted(&arguments, config.map(|_| path.as_path()));
        wanted.map_err(|error| format!("{error:#}").replace(folder.to_str().unwrap(), "@"))
    }

    fn catalog(name: &str, path: &Path, about: About) -> Wanted {
        Wanted { name: CatalogName::new(name).unwrap(), source: Source::Directory(path.to_owned()), about }
    }

    #[test]
    fn a_catalog_is_named_by_the_user_or_by_its_path() {
        let folder = folder(&["one", "v4.18", "a=b"]);
        let at = |name: &str| folder.path().join(name);
        let wanted = wanted_in(folder.path(), &["@/one", "two=dir:@/one", "dir:@/v4.18", "three=@/a=b"], None).unwrap();
        let expected = [("one", "one"), ("two", "one"), ("v4.18", "v4.18"), ("three", "a=b")];
        assert_eq!(wanted, expected.map(|(name, path)| catalog(name, &at(path), About::default())));
    }

    #[test]
    fn a_bad_name_a_bad_source_and_two_of_one_name_are_refused() {
        let folder = folder(&["one", "One"]);
        for (arguments, error) in [
            (&["@/One"][..], "`@/One` needs a name: write NAME=@/One: `One` cannot name a catalog"),
            (&["ONE=@/one"], "`ONE` cannot name a catalog"),
            (&["@/nowhere"], "`@/nowhere` is no source: write dir:PATH or the path of a directory that exists"),
            (&["dir:"], "`dir:` is no source"),
            (&["a="], "`` is no source"),
            (&["@/one", "one=@/One"], "two catalogs are called `one`: write NAME=SOURCE"),
        ] {
            let refused = wanted_in(folder.path(), arguments, None).unwrap_err();
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn a_configuration_says_everything_about_a_catalog() {
        let folder = folder(&["one"]);
        let config = "sources:\n- name: first\n  source: dir:one\n  priority: -5\n  displayName: First\n  \
                      publisher: Somebody\n  labels: {tier: gold}\n- source: one\n";
        let about = About {
            priority: -5,
            display_name: Some("First".to_owned()),
            publisher: Some("Somebody".to_owned()),
            labels: BTreeMap::from([("tier".to_owned(), "gold".to_owned())]),
        };
        let one = folder.path().join("one");
        let expected = vec![catalog("first", &one, about), catalog("one", &one, About::default())];
        assert_eq!(wanted_in(folder.path(), &[], Some(config)), Ok(expected));
    }

    #[test]
    fn a_configuration_without_sources_is_refused() {
        let error = wanted_in(folder(&[]).path(), &[], Some("sources: []")).unwrap_err();
        assert_eq!(error, "no catalog is named, neither as an argument nor in the configuration");
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused_with_its_place() {
        let folder = folder(&["one"]);
        let error = wanted_in(folder.path(), &[], Some("sources:\n- source: one\n  prio: 1\n")).unwrap_err();
        assert!(error.starts_with("cannot use the configuration `@/catalogs.yaml`: "), "{error}");
        assert!(error.contains("prio") && error.contains("line 3"), "{error}");
    }
}
