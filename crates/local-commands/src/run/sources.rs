//! The catalogs that a user names, on the command line and in the configuration file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use commands::args::parse_duration;
use loading::{RefreshPolicy, Source, SourceParseError, SourceSpec};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serving::{CatalogMetadata, CatalogName};

use super::registries::SourceClients;

/// The catalogs of the configuration file. Its other members are flags, which were read with the
/// command line.
#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    sources: Vec<ConfigSource>,
}

/// One catalog of the configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConfigSource {
    /// The last part of the path, when absent.
    name: Option<String>,
    /// As on the command line; a relative path starts at the folder of the file.
    source: String,
    /// Directory of an image that holds the catalog; that of the image's label, when absent.
    configs_dir: Option<String>,
    /// Poll interval of an image's tag, such as `10m`; `--poll`, when absent.
    poll_interval: Option<String>,
    #[serde(default, deserialize_with = "read_priority")]
    priority: i32,
    display_name: Option<String>,
    publisher: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Namespace that the Kubernetes API shows its packages in; the global one, when absent.
    namespace: Option<String>,
    /// Creation time of its packages in the Kubernetes API.
    creation_timestamp: Option<String>,
    /// Withdraws the catalog if the signature policy refuses its image; `--policy-withdraws`, when
    /// absent.
    policy_withdraws: Option<bool>,
}

/// A source as a user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceReference {
    /// The source.
    pub source: Source,
    /// The directory of an image that holds the catalog; `None` takes the one that the image's
    /// label names.
    pub configs_dir: Option<String>,
}

/// A catalog as a user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name.
    pub name: CatalogName,
    /// The source.
    pub reference: SourceReference,
    /// Settings that the user gives it.
    pub metadata: CatalogMetadata,
    /// Poll interval of the image's tag, in place of `--poll`; zero is never.
    pub poll_interval: Option<Duration>,
    /// Withdraws the catalog if the signature policy refuses its image, in place of
    /// `--policy-withdraws`.
    pub policy_withdraws: Option<bool>,
}

impl SourceReference {
    /// Parses a source of the command line.
    pub(super) fn parse(source: &str, configs_dir: Option<&str>) -> anyhow::Result<Self> {
        let source = Source::parse(source, Path::new(""))?;
        let is_image = matches!(source, Source::Image(_));
        let configs_dir = configs_dir.filter(|_| is_image).map(str::to_owned);
        Ok(Self {
            source,
            configs_dir,
        })
    }

    /// Returns the source with its refresh policy and the clients.
    pub fn spec(&self, refresh: RefreshPolicy, clients: &SourceClients) -> SourceSpec {
        let Self {
            source,
            configs_dir,
        } = self.clone();
        SourceSpec {
            source,
            configs_dir,
            refresh,
            registries: clients.registries.clone(),
            http: clients.http.clone(),
        }
    }
}

/// Rejects `--configs-dir` where no source is an image. Sources that cannot be parsed are rejected
/// elsewhere.
pub(super) fn check_configs_dir(
    sources: &[String],
    configs_dir: Option<&str>,
) -> anyhow::Result<()> {
    let is_no_image = |source: &String| {
        let parsed = SourceReference::parse(split(source).1, None);
        parsed.is_ok_and(|reference| !matches!(reference.source, Source::Image(_)))
    };
    if configs_dir.is_some() && !sources.is_empty() && sources.iter().all(is_no_image) {
        bail!(
            "--configs-dir names a directory in an image, and no source on the command line is an image"
        );
    }
    Ok(())
}

/// Returns the catalogs of the command line and of the file, in that order; no two of one name.
/// `configs_dir` is for the images of the command line.
pub fn catalogs(
    arguments: &[String],
    config: Option<&Path>,
    configs_dir: Option<&str>,
) -> anyhow::Result<Vec<CatalogEntry>> {
    check_configs_dir(arguments, configs_dir)?;
    let mut entries = Vec::new();
    for argument in arguments {
        let (name, source) = split(argument);
        entries.push(entry(
            name,
            source,
            SourceReference::parse(source, configs_dir)?,
        )?);
    }
    if let Some(path) = config {
        let read = read_config(path)
            .with_context(|| format!("cannot use the configuration `{}`", path.display()));
        entries.extend(read?);
    }
    if entries.is_empty() {
        bail!("no catalog is named, neither as an argument nor in the configuration");
    }
    let mut names: Vec<_> = entries.iter().map(|entry| &entry.name).collect();
    names.sort();
    if let Some([same, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "two catalogs are called `{same}`: write NAME=SOURCE to give one of them another name"
        );
    }
    Ok(entries)
}

fn read_config(path: &Path) -> anyhow::Result<Vec<CatalogEntry>> {
    let text = fs::read_to_string(path)?;
    // Its own text would repeat the message below a part of the file, which has no name there.
    let config: Config =
        serde_saphyr::from_str(&text).map_err(|error| anyhow!("{}", error.without_snippet()))?;
    let folder = path.parent().unwrap_or(path);
    let entries = config.sources.into_iter().map(|source| {
        let parsed = Source::parse(&source.source, folder)?;
        if matches!(parsed, Source::Remote(_)) && source.configs_dir.is_some() {
            bail!(
                "`configsDir` is for images: append #path=FOLDER to `{}`",
                source.source
            );
        }
        if matches!(parsed, Source::Remote(_)) && source.policy_withdraws.is_some() {
            bail!(
                "`policyWithdraws` is for images, and `{}` is none",
                source.source
            );
        }
        if matches!(parsed, Source::Directory(_)) {
            let fields = [
                ("configsDir", source.configs_dir.is_some()),
                ("pollInterval", source.poll_interval.is_some()),
                ("policyWithdraws", source.policy_withdraws.is_some()),
            ];
            if let Some((field, _)) = fields.iter().find(|(_, is_set)| *is_set) {
                bail!(
                    "`{field}` is for images, and `{}` is a directory",
                    source.source
                );
            }
        }
        let interval = source
            .poll_interval
            .as_deref()
            .map(parse_duration)
            .transpose();
        let poll_interval =
            interval.map_err(|error| anyhow!("`pollInterval` of `{}`: {error}", source.source))?;
        let created = source
            .creation_timestamp
            .as_deref()
            .map(str::parse)
            .transpose();
        let created = created
            .map_err(|error| anyhow!("`creationTimestamp` of `{}`: {error}", source.source))?;
        if parsed.is_server() {
            let has_settings = source.priority != 0
                || source.display_name.is_some()
                || source.publisher.is_some()
                || !source.labels.is_empty()
                || source.namespace.is_some()
                || source.creation_timestamp.is_some();
            if has_settings {
                bail!(
                    "`{}` is a server, which has the settings of its catalogs: name a catalog with /catalogs/NAME to give it others",
                    source.source
                );
            }
        }
        let metadata = CatalogMetadata {
            priority: source.priority,
            display_name: source.display_name,
            publisher: source.publisher,
            labels: source.labels,
            image_reference: parsed.image_reference(),
            namespace: source.namespace,
            created,
        };
        let reference = SourceReference {
            source: parsed,
            configs_dir: source.configs_dir,
        };
        Ok(CatalogEntry {
            metadata,
            poll_interval,
            policy_withdraws: source.policy_withdraws,
            ..entry(source.name.as_deref(), &source.source, reference)?
        })
    });
    entries.collect()
}

fn read_priority<'de, D: Deserializer<'de>>(value: D) -> Result<i32, D::Error> {
    i32::deserialize(value)
        .map_err(|_| D::Error::custom("`priority` must be a whole number, such as 10 or -5"))
}

/// `NAME=SOURCE` in its parts. What is before `=` is a name unless it can only be the beginning of
/// a source.
fn split(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((name, source)) if !name.contains(['/', ':']) => (Some(name), source),
        _ => (None, argument),
    }
}

/// Returns `true` for an argument that has the form of a source: a directory that exists, an image,
/// or a URL, which is refused as a source.
pub(super) fn is_source(argument: &str) -> bool {
    let (_, source) = split(argument);
    let parsed = Source::parse(source, Path::new(""));
    !matches!(
        parsed,
        Err(SourceParseError::Unknown(_) | SourceParseError::Image(_))
    )
}

/// Returns the argument of a command with a name, if the last part of its path is not one. Such a
/// name is not published, so that a similar one serves as well.
pub(super) fn with_name(argument: &str) -> String {
    let unchanged = argument.to_owned();
    let (None, source) = split(argument) else {
        return unchanged;
    };
    let Ok(reference) = SourceReference::parse(source, None) else {
        return unchanged;
    };
    let part = reference.source.last_path_segment().unwrap_or_default();
    if CatalogName::new(&part).is_ok() {
        return unchanged;
    }
    let similar = part.to_lowercase().replace(
        |letter: char| !letter.is_ascii_alphanumeric() && letter != '.',
        "-",
    );
    match CatalogName::new(similar.trim_matches(['-', '.'])) {
        Ok(name) => format!("{name}={argument}"),
        Err(_) => unchanged,
    }
}

fn entry(
    name: Option<&str>,
    source: &str,
    reference: SourceReference,
) -> anyhow::Result<CatalogEntry> {
    let name = match (name, &reference.source) {
        (Some(_), Source::Remote(server)) if server.is_server() => {
            bail!("cannot name `{server}`: it is a server, whose catalogs have their own names")
        }
        (None, Source::Remote(server)) if server.is_server() => server_name(&server.to_string())?,
        (Some(name), _) => CatalogName::new(name)?,
        (None, _) => {
            let part = reference.source.last_path_segment().unwrap_or_default();
            CatalogName::new(&part)
                .with_context(|| format!("`{source}` needs a name: write NAME={source}"))?
        }
    };
    let metadata = CatalogMetadata {
        image_reference: reference.source.image_reference(),
        ..CatalogMetadata::default()
    };
    Ok(CatalogEntry {
        name,
        reference,
        metadata,
        poll_interval: None,
        policy_withdraws: None,
    })
}

/// Returns the name of the entry of a server, under which nothing is served.
fn server_name(reference: &str) -> anyhow::Result<CatalogName> {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let name = reference
        .to_lowercase()
        .replace(|letter: char| !is_kept(letter), "-");
    Ok(CatalogName::new(name.trim_matches(['-', '.']))?)
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

    fn catalogs_in(
        folder: &Path,
        arguments: &[&str],
        config: Option<&str>,
    ) -> Result<Vec<CatalogEntry>, String> {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|text| text.replace('@', folder.to_str().unwrap()))
            .collect();
        let path = folder.join("catalogs.yaml");
        fs::write(&path, config.unwrap_or_default()).unwrap();
        let entries = catalogs(&arguments, config.map(|_| path.as_path()), None);
        entries.map_err(|error| format!("{error:#}").replace(folder.to_str().unwrap(), "@"))
    }

    fn catalog(name: &str, path: &Path, metadata: CatalogMetadata) -> CatalogEntry {
        CatalogEntry {
            name: CatalogName::new(name).unwrap(),
            reference: SourceReference {
                source: Source::Directory(path.to_owned()),
                configs_dir: None,
            },
            metadata,
            poll_interval: None,
            policy_withdraws: None,
        }
    }

    #[test]
    fn a_catalog_is_named_by_the_user_or_by_its_path() {
        let folder = folder(&["one", "v4.18", "a=b"]);
        let at = |name: &str| folder.path().join(name);
        let wanted = catalogs_in(
            folder.path(),
            &["@/one", "two=dir:@/one", "dir:@/v4.18", "three=@/a=b"],
            None,
        )
        .unwrap();
        let expected = [
            ("one", "one"),
            ("two", "one"),
            ("v4.18", "v4.18"),
            ("three", "a=b"),
        ];
        assert_eq!(
            wanted,
            expected.map(|(name, path)| catalog(name, &at(path), CatalogMetadata::default()))
        );
    }

    #[test]
    fn an_image_is_named_by_its_repository_and_a_layout_by_its_path() {
        let folder = folder(&["a"]);
        let arguments = [
            "quay.io/operatorhubio/catalog:latest",
            "localhost:5000/a/b",
            "c=docker://busybox",
            "oci:@/d.tar:v1",
        ];
        let wanted = catalogs_in(folder.path(), &arguments, None).unwrap();
        let names: Vec<_> = wanted.iter().map(|wanted| wanted.name.as_str()).collect();
        assert_eq!(names, ["catalog", "b", "c", "d"]);
    }

    #[test]
    fn a_directory_of_an_image_is_given_for_all_images_of_the_command_line_or_for_one_of_the_configuration()
     {
        let given = |source: &str| {
            SourceReference::parse(source, Some("/other"))
                .unwrap()
                .configs_dir
        };
        assert_eq!(given("quay.io/ns/catalog").as_deref(), Some("/other"));
        assert_eq!(given("oci:layout").as_deref(), Some("/other"));
        assert_eq!(given("dir:one"), None);

        let folder = folder(&["one"]);
        let config =
            |source: &str| format!("sources:\n- {{source: '{source}', configsDir: /other}}\n");
        let wanted = catalogs_in(folder.path(), &[], Some(&config("quay.io/ns/catalog"))).unwrap();
        assert_eq!(wanted[0].reference.configs_dir.as_deref(), Some("/other"));
        let refused = catalogs_in(folder.path(), &[], Some(&config("one"))).unwrap_err();
        let expected = "cannot use the configuration `@/catalogs.yaml`: `configsDir` is for images, and `one` is a directory";
        assert_eq!(refused, expected);
    }

    #[test]
    fn a_command_names_a_directory_whose_own_name_is_none() {
        let folder = folder(&["one", "My_Catalog"]);
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        let renamed = format!("my-catalog={}", path("My_Catalog"));
        assert_eq!(with_name(&path("My_Catalog")), renamed);
        for unchanged in [
            path("one"),
            format!("b={}", path("My_Catalog")),
            path("none"),
        ] {
            assert_eq!(with_name(&unchanged), unchanged);
        }
    }

    #[test]
    fn a_bad_name_a_bad_source_and_two_of_one_name_are_refused() {
        let folder = folder(&["one", "One"]);
        for (arguments, error) in [
            (
                &["@/One"][..],
                "`@/One` needs a name: write NAME=@/One: `One` cannot name a catalog",
            ),
            (&["ONE=@/one"], "`ONE` cannot name a catalog"),
            (
                &["@/nowhere"],
                "`@/nowhere` is not a source: write the path of a directory that exists, dir:PATH, oci:PATH, or an",
            ),
            (
                &["operators"],
                "`operators` is not a source: write the path of a directory that exists, dir:PATH, oci:PATH, or an",
            ),
            (
                &["quay.io/ns/my_catalog"],
                "`quay.io/ns/my_catalog` needs a name: write NAME=quay.io/ns/my_catalog: ",
            ),
            (&["dir:"], "`dir:` is not a source"),
            (&["a="], "`` is not a source"),
            (
                &["@/one", "one=@/One"],
                "two catalogs are called `one`: write NAME=SOURCE",
            ),
        ] {
            let refused = catalogs_in(folder.path(), arguments, None).unwrap_err();
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn a_configuration_says_everything_about_a_catalog() {
        let folder = folder(&["one"]);
        let config = "sources:\n- name: first\n  source: dir:one\n  priority: -5\n  displayName: First\n  \
                      publisher: Somebody\n  labels: {tier: gold}\n  \
                      namespace: team\n  creationTimestamp: 2026-02-03T04:05:06Z\n- source: one\n";
        let metadata = CatalogMetadata {
            priority: -5,
            display_name: Some("First".to_owned()),
            publisher: Some("Somebody".to_owned()),
            labels: BTreeMap::from([("tier".to_owned(), "gold".to_owned())]),
            image_reference: None,
            namespace: Some("team".to_owned()),
            created: Some("2026-02-03T04:05:06Z".parse().unwrap()),
        };
        let one = folder.path().join("one");
        let expected = vec![
            catalog("first", &one, metadata),
            catalog("one", &one, CatalogMetadata::default()),
        ];
        assert_eq!(catalogs_in(folder.path(), &[], Some(config)), Ok(expected));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_by_its_name() {
        let folder = folder(&["one"]);
        let config = "sources:\n- source: one\n  priority: high\n";
        let error = catalogs_in(folder.path(), &[], Some(config)).unwrap_err();
        let expected = "cannot use the configuration `@/catalogs.yaml`: `priority` must be a whole number, such as 10 or -5 at line 3, column 13";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_directory_of_an_image_needs_an_image() {
        let folder = folder(&["one"]);
        let one = folder.path().join("one").display().to_string();
        let error = catalogs(&[one], None, Some("/other")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--configs-dir names a directory in an image, and no source on the command line is an image"
        );
    }

    #[test]
    fn a_configuration_without_sources_is_refused() {
        let error = catalogs_in(folder(&[]).path(), &[], Some("sources: []")).unwrap_err();
        assert_eq!(
            error,
            "no catalog is named, neither as an argument nor in the configuration"
        );
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused_with_its_place() {
        let folder = folder(&["one"]);
        let error = catalogs_in(
            folder.path(),
            &[],
            Some("sources:\n- source: one\n  prio: 1\n"),
        )
        .unwrap_err();
        let expected = "cannot use the configuration `@/catalogs.yaml`: unknown field `prio`, expected one of name, source, \
                        configsDir, pollInterval, priority, displayName, publisher, labels, namespace, \
                        creationTimestamp, policyWithdraws at line 3, column 3";
        assert_eq!(error, expected);
    }
}
