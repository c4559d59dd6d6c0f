//! Reads an `ImageSetConfiguration` of oc-mirror and refuses invalid ones.
//!
//! Of `mirror`, only `operators` and `blockedImages` are used. Members that no version of oc-mirror
//! has are refused, as oc-mirror does: a misspelt bound would silently select other versions.

use std::collections::HashSet;

use fbc::PlatformVersion;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::need::{InstalledText, MAX_INSTALLED_BUNDLES, MirrorPlatform, PackageNeed};
use crate::node::{Node, NodeAt};
use crate::pattern::BlockedPattern;
use crate::problem::{MAX_PROBLEMS, MirrorProblem, MirrorProblemCode};
use crate::range::MirrorRange;

/// Maximum length of a configuration, in bytes.
pub const MAX_CONFIGURATION_BYTES: usize = 32 << 20;

/// Maximum number of values in a configuration: enough for 100,000 packages with several channels.
pub const MAX_CONFIGURATION_VALUES: usize = 4_000_000;

/// Supported values of `apiVersion`.
pub const API_VERSIONS: [&str; 2] = [
    "mirror.openshift.io/v1alpha2",
    "mirror.openshift.io/v2alpha1",
];

/// Value of `kind`.
pub const KIND: &str = "ImageSetConfiguration";

/// Members of an item of `operators` that change nothing that is selected.
const OPERATOR_MEMBERS: [&str; 9] = [
    "catalog",
    "full",
    "packages",
    "targetCatalog",
    "targetTag",
    "targetCatalogSourceTemplate",
    "platforms",
    "skipDependencies",
    "originalRef",
];

const PACKAGE_MEMBERS: [&str; 5] = [
    "name",
    "defaultChannel",
    "minVersion",
    "maxVersion",
    "channels",
];

/// Members of a package that only requests have.
const NEED_MEMBERS: [&str; 4] = ["from", "to", "dependencies", "platform"];

const PLATFORM_MEMBERS: [&str; 3] = ["kubernetes", "openshift", "architecture"];

const CHANNEL_MEMBERS: [&str; 3] = ["name", "minVersion", "maxVersion"];

/// Beginning of the places of a request.
const REQUEST_PATH: &str = "input";

/// Parts of `mirror` that are not about catalogs.
const OTHER_PARTS: [&str; 4] = ["platform", "additionalImages", "helm", "samples"];

/// A configuration of what is mirrored.
#[derive(Clone, Debug, Default)]
pub struct MirrorConfiguration {
    /// Items of `mirror.operators`, in their order.
    pub operators: Vec<CatalogSelection>,
    /// Warnings about parts that are ignored.
    pub notices: Vec<MirrorProblem>,
    blocked: Vec<BlockedPattern>,
}

/// Selection from one catalog: an item of `mirror.operators`.
#[derive(Clone, Debug, Default)]
pub struct CatalogSelection {
    /// Place of the item in the configuration.
    pub path: String,
    /// Line of the item.
    pub line: Option<u64>,
    /// Reference of the catalog.
    pub catalog: String,
    /// Selects all entries of the selected channels.
    pub is_full: bool,
    /// Selected packages; all if empty.
    pub packages: Vec<PackageSelection>,
    /// Repository of the catalog in the target registry, in place of its own path.
    pub target_catalog: Option<String>,
    /// Tag of the catalog in the target registry.
    pub target_tag: Option<String>,
}

/// Selection from one package.
#[derive(Clone, Debug)]
pub struct PackageSelection {
    /// Line of the item.
    pub line: Option<u64>,
    /// Name of the package.
    pub name: String,
    /// Default channel, in place of that of the catalog.
    pub default_channel: Option<String>,
    /// Versions to select in each selected channel; heads if absent.
    pub range: Option<MirrorRange>,
    /// Selected channels; all if empty, or the default channel if upgrades are needed.
    pub channels: Vec<ChannelSelection>,
    /// Need of a cluster, which only requests have.
    pub need: PackageNeed,
}

/// Selection from one channel.
#[derive(Clone, Debug)]
pub struct ChannelSelection {
    /// Line of the item.
    pub line: Option<u64>,
    /// Name of the channel.
    pub name: String,
    /// Versions to select; those of the package if absent.
    pub range: Option<MirrorRange>,
}

impl MirrorConfiguration {
    /// Reads a configuration in YAML or JSON.
    ///
    /// # Errors
    /// The reasons why it is refused, with their places; at most [`MAX_PROBLEMS`].
    pub fn parse(text: &str) -> Result<Self, Vec<MirrorProblem>> {
        let refuse =
            |message: String| vec![MirrorProblem::new(MirrorProblemCode::Config, "", message)];
        if text.len() > MAX_CONFIGURATION_BYTES {
            return Err(refuse(format!(
                "the configuration has more than {MAX_CONFIGURATION_BYTES} bytes"
            )));
        }
        let budget = serde_saphyr::budget! {
            max_events: 2 * MAX_CONFIGURATION_VALUES,
            max_nodes: MAX_CONFIGURATION_VALUES,
        };
        let options = serde_saphyr::options! {
            budget: budget,
            duplicate_keys: DuplicateKeyPolicy::Error,
        };
        let root: NodeAt = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let reason = error.without_snippet().to_string();
            // The library names functions of its own.
            if reason.contains("multiple YAML documents") {
                return refuse("the configuration must be one YAML document".to_owned());
            }
            refuse(format!("the configuration is not YAML: {reason}"))
        })?;

        let mut reader = Reader::default();
        let configuration = reader.configuration(&root);
        match configuration {
            Some(configuration) if reader.problems.is_empty() => Ok(configuration),
            _ => Err(reader.problems),
        }
    }

    /// Reads a request: one catalog, and the members `full`, `packages` and `blockedImages` (texts)
    /// of an object; others are ignored. Places begin with `input`.
    ///
    /// # Errors
    /// As those of [`Self::parse`].
    pub fn from_request(
        catalog: &str,
        request: &serde_json::Value,
    ) -> Result<Self, Vec<MirrorProblem>> {
        let mut reader = Reader {
            is_request: true,
            ..Reader::default()
        };
        let configuration = reader.request(catalog, &request.into());
        match configuration {
            Some(configuration) if reader.problems.is_empty() => Ok(configuration),
            _ => Err(reader.problems),
        }
    }

    /// Returns the number of patterns of `blockedImages`.
    pub fn blocked_count(&self) -> usize {
        self.blocked.len()
    }

    /// Tells whether a pattern of `blockedImages` matches an image reference.
    pub fn blocks(&self, reference: &str) -> bool {
        self.blocked
            .iter()
            .any(|pattern| pattern.matches(reference))
    }

    /// Returns the patterns of `blockedImages` as they were written.
    pub(crate) fn blocked_texts(&self) -> Vec<&str> {
        self.blocked.iter().map(BlockedPattern::as_str).collect()
    }
}

impl CatalogSelection {
    /// Returns the place of a package.
    pub fn package_path(&self, package: usize) -> String {
        format!("{}.packages[{package}]", self.path)
    }

    /// Returns the place of a channel of a package.
    pub fn channel_path(&self, package: usize, channel: usize) -> String {
        format!("{}.packages[{package}].channels[{channel}]", self.path)
    }
}

/// Place of an object, and its members.
struct ObjectAt<'n> {
    path: String,
    line: Option<u64>,
    members: &'n [(String, NodeAt)],
}

/// Collects the problems of a configuration while it is read.
#[derive(Default)]
struct Reader {
    /// Members that oc-mirror does not have are read, too.
    is_request: bool,
    problems: Vec<MirrorProblem>,
}

impl Reader {
    fn refuse(&mut self, path: &str, line: Option<u64>, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            let problem = MirrorProblem::new(MirrorProblemCode::Config, path, message);
            self.problems.push(problem.on_line(line));
        }
    }

    fn configuration(&mut self, root: &NodeAt) -> Option<MirrorConfiguration> {
        let root = self.object("", root)?;
        let kind = self.text(&root, "kind");
        if kind.as_deref() != Some(KIND) {
            let line = root.line_of("kind");
            self.refuse("kind", line, format!("the `kind` must be `{KIND}`"));
        }
        let version = self.text(&root, "apiVersion");
        if !version.is_some_and(|version| API_VERSIONS.contains(&&*version)) {
            let line = root.line_of("apiVersion");
            let known = API_VERSIONS.join("` or `");
            self.refuse(
                "apiVersion",
                line,
                format!("the `apiVersion` must be `{known}`"),
            );
        }

        let mirror = root
            .member("mirror")
            .map(|node| self.object("mirror", node));
        let Some(Some(mirror)) = mirror else {
            if mirror.is_none() {
                self.refuse("mirror", root.line, "`mirror` is missing");
            }
            return None;
        };
        let mut configuration = MirrorConfiguration::default();
        for part in OTHER_PARTS {
            let Some(node) = mirror.member(part) else {
                continue;
            };
            let message = format!("`{part}` is not about catalogs and is ignored");
            let path = format!("mirror.{part}");
            let notice = MirrorProblem::new(MirrorProblemCode::PartIgnored, path, message);
            configuration
                .notices
                .push(notice.on_line(node.line).but_oc_mirror("mirrors it too"));
        }
        for blocked in self.objects(&mirror, "blockedImages") {
            if let Some(name) = self.name(&blocked) {
                let path = blocked.path_of("name");
                let line = blocked.line_of("name");
                self.blocked_pattern(&name, &path, line, &mut configuration.blocked);
            }
        }
        let operators = self.objects(&mirror, "operators");
        let mut targets = HashSet::new();
        for operator in &operators {
            let Some(selection) = self.catalog(operator) else {
                continue;
            };
            let target = (
                selection.catalog.clone(),
                selection.target_catalog.clone(),
                selection.target_tag.clone(),
            );
            if !targets.insert(target) {
                let message = format!(
                    "catalog `{}` is named twice with the same target: merge the items, or give one another `targetCatalog` or `targetTag`",
                    selection.catalog
                );
                self.refuse(&operator.path, operator.line, message);
            }
            configuration.operators.push(selection);
        }
        if operators.is_empty() && self.problems.is_empty() {
            self.refuse(
                "mirror.operators",
                mirror.line,
                "no catalog is named in `mirror.operators`",
            );
        }
        Some(configuration)
    }

    fn request(&mut self, catalog: &str, root: &NodeAt) -> Option<MirrorConfiguration> {
        let root = self.object(REQUEST_PATH, root)?;
        let mut configuration = MirrorConfiguration::default();
        for (at, text) in self.texts(&root, "blockedImages").iter().enumerate() {
            let path = format!("{}[{at}]", root.path_of("blockedImages"));
            self.blocked_pattern(text, &path, None, &mut configuration.blocked);
        }
        let selection = CatalogSelection {
            path: root.path.clone(),
            catalog: catalog.to_owned(),
            is_full: self.boolean(&root, "full"),
            packages: self.packages(&root),
            ..CatalogSelection::default()
        };
        let has_choice = |package: &PackageSelection| {
            package.need.is_upgrade() || package.need.platform.is_some()
        };
        if let Some(at) = selection.packages.iter().position(has_choice)
            && selection.is_full
        {
            let message = "`full` selects all versions: remove it, or `from`, `to` and `platform`";
            self.refuse(&selection.package_path(at), None, message);
        }
        configuration.operators.push(selection);
        Some(configuration)
    }

    fn blocked_pattern(
        &mut self,
        text: &str,
        path: &str,
        line: Option<u64>,
        patterns: &mut Vec<BlockedPattern>,
    ) {
        match BlockedPattern::parse(text) {
            Ok(pattern) => patterns.push(pattern),
            Err(message) => self.refuse(path, line, message),
        }
    }

    fn catalog(&mut self, operator: &ObjectAt<'_>) -> Option<CatalogSelection> {
        self.check_members(operator, &OPERATOR_MEMBERS);
        let catalog = self
            .text(operator, "catalog")
            .filter(|text| !text.is_empty());
        if catalog.is_none() {
            self.refuse(
                &operator.path,
                operator.line,
                "`catalog` is missing: name the reference of a catalog",
            );
        }
        let is_full = self.boolean(operator, "full");
        let target_catalog = self.text(operator, "targetCatalog");
        let target_tag = self.text(operator, "targetTag");
        let packages = self.packages(operator);
        Some(CatalogSelection {
            path: operator.path.clone(),
            line: operator.line,
            catalog: catalog?,
            is_full,
            packages,
            target_catalog,
            target_tag,
        })
    }

    fn packages(&mut self, owner: &ObjectAt<'_>) -> Vec<PackageSelection> {
        let items = self.objects(owner, "packages");
        let mut names = HashSet::new();
        let mut packages = Vec::with_capacity(items.len());
        for item in items {
            let Some(package) = self.package(&item) else {
                continue;
            };
            if !names.insert(package.name.clone()) {
                let message = format!("package `{}` is named twice", package.name);
                self.refuse(&item.path, item.line, message);
            }
            packages.push(package);
        }
        packages
    }

    fn package(&mut self, item: &ObjectAt<'_>) -> Option<PackageSelection> {
        let mut members = PACKAGE_MEMBERS.to_vec();
        if self.is_request {
            members.extend(NEED_MEMBERS);
        }
        self.check_members(item, &members);
        let name = self.name(item);
        let default_channel = self
            .text(item, "defaultChannel")
            .filter(|text| !text.is_empty());
        let range = self.range(item);
        let items = self.objects(item, "channels");
        let mut names = HashSet::new();
        let mut channels = Vec::with_capacity(items.len());
        for channel_item in items {
            self.check_members(&channel_item, &CHANNEL_MEMBERS);
            let channel_range = self.range(&channel_item);
            let Some(channel) = self.name(&channel_item) else {
                continue;
            };
            if range.is_some() && channel_range.is_some() {
                let message = format!(
                    "channel `{channel}` and its package both have a range of versions: remove one of them"
                );
                self.refuse(&channel_item.path, channel_item.line, message);
            }
            if !names.insert(channel.clone()) {
                let message = format!("channel `{channel}` is named twice");
                self.refuse(&channel_item.path, channel_item.line, message);
            }
            channels.push(ChannelSelection {
                line: channel_item.line,
                name: channel,
                range: channel_range,
            });
        }
        let need = if self.is_request {
            self.need(item)
        } else {
            PackageNeed::default()
        };
        let has_range = range.is_some() || channels.iter().any(|channel| channel.range.is_some());
        if need.is_upgrade() && has_range {
            let message = "`from` and `to` select versions, and there is a range of versions: remove one of them";
            self.refuse(&item.path, item.line, message);
        }
        Some(PackageSelection {
            line: item.line,
            name: name?,
            default_channel,
            range,
            channels,
            need,
        })
    }

    fn need(&mut self, item: &ObjectAt<'_>) -> PackageNeed {
        let platform = item.member("platform").filter(|value| !value.is_null());
        let platform = platform.and_then(|value| {
            let object = self.object(&item.path_of("platform"), value)?;
            self.check_members(&object, &PLATFORM_MEMBERS);
            Some(MirrorPlatform {
                kubernetes: self.platform_version(&object, "kubernetes"),
                openshift: self.platform_version(&object, "openshift"),
                architecture: self.text(&object, "architecture"),
            })
        });
        let from = self.texts(item, "from");
        if from.len() > MAX_INSTALLED_BUNDLES {
            let message = format!(
                "`from` has {} bundles; at most {MAX_INSTALLED_BUNDLES} are allowed",
                from.len()
            );
            self.refuse(&item.path_of("from"), item.line_of("from"), message);
        }
        PackageNeed {
            from: from.iter().map(|text| InstalledText::parse(text)).collect(),
            to: self.text(item, "to").filter(|text| !text.is_empty()),
            dependencies: self.boolean(item, "dependencies"),
            platform: platform.filter(|platform| platform.platform().is_some()),
        }
    }

    fn platform_version(&mut self, object: &ObjectAt<'_>, member: &str) -> Option<PlatformVersion> {
        let text = self.text(object, member).filter(|text| !text.is_empty())?;
        match text.parse() {
            Ok(version) => Some(version),
            Err(error) => {
                let path = object.path_of(member);
                self.refuse(&path, object.line_of(member), error.to_string());
                None
            }
        }
    }

    /// Reads a member that is a list of texts; absent and `null` are the empty list.
    fn texts(&mut self, item: &ObjectAt<'_>, member: &str) -> Vec<String> {
        let value = item.member(member).filter(|value| !value.is_null());
        let Some(value) = value else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        let items = match &value.node {
            Node::List(items) => &**items,
            _ => &[],
        };
        for item in items {
            if let Node::Text(text) = &item.node {
                texts.push(text.clone());
            }
        }
        if texts.len() != items.len() || !matches!(value.node, Node::List(_)) {
            let message = format!("`{member}` must be a list of texts");
            self.refuse(&item.path_of(member), value.line, message);
        }
        texts
    }

    fn range(&mut self, item: &ObjectAt<'_>) -> Option<MirrorRange> {
        let minimum = self.text(item, "minVersion");
        let maximum = self.text(item, "maxVersion");
        match MirrorRange::new(minimum.as_deref(), maximum.as_deref()) {
            Ok(range) => range,
            Err(error) => {
                let path = item.path_of(error.member);
                self.refuse(&path, item.line_of(error.member), error.message);
                None
            }
        }
    }

    /// Reads the member `name`, which is required.
    fn name(&mut self, item: &ObjectAt<'_>) -> Option<String> {
        let had = self.problems.len();
        let name = self.text(item, "name").filter(|name| !name.is_empty());
        if name.is_none() && self.problems.len() == had {
            self.refuse(&item.path, item.line, "`name` is missing");
        }
        name
    }

    fn text(&mut self, item: &ObjectAt<'_>, member: &str) -> Option<String> {
        let value = item.member(member)?;
        match &value.node {
            Node::Null => None,
            Node::Text(text) => Some(text.clone()),
            other => {
                let quoted = match other {
                    Node::Number(text) => format!(": write \"{text}\", with quotes"),
                    _ => String::new(),
                };
                let message = format!(
                    "`{member}` must be a text, not {}{quoted}",
                    other.type_name()
                );
                self.refuse(&item.path_of(member), value.line, message);
                None
            }
        }
    }

    fn boolean(&mut self, item: &ObjectAt<'_>, member: &str) -> bool {
        let Some(value) = item.member(member) else {
            return false;
        };
        match &value.node {
            Node::Null => false,
            Node::Boolean(value) => *value,
            other => {
                let message = format!(
                    "`{member}` must be `true` or `false`, not {}",
                    other.type_name()
                );
                self.refuse(&item.path_of(member), value.line, message);
                false
            }
        }
    }

    fn object<'n>(&mut self, path: &str, value: &'n NodeAt) -> Option<ObjectAt<'n>> {
        if let Node::Object(members) = &value.node {
            return Some(ObjectAt {
                path: path.to_owned(),
                line: value.line,
                members,
            });
        }
        let name = if path.is_empty() {
            "the configuration"
        } else {
            path
        };
        let message = match value.node {
            Node::Null if path.is_empty() => "the configuration is empty".to_owned(),
            _ => format!("{name} must be an object, not {}", value.node.type_name()),
        };
        self.refuse(path, value.line, message);
        None
    }

    /// Reads a member that is a list of objects; absent and `null` are the empty list.
    fn objects<'n>(&mut self, item: &ObjectAt<'n>, member: &str) -> Vec<ObjectAt<'n>> {
        let Some(value) = item.member(member) else {
            return Vec::new();
        };
        let path = item.path_of(member);
        match &value.node {
            Node::Null => Vec::new(),
            Node::List(items) => {
                let items = items.iter().enumerate();
                items
                    .filter_map(|(at, item)| self.object(&format!("{path}[{at}]"), item))
                    .collect()
            }
            other => {
                let message = format!("`{member}` must be a list, not {}", other.type_name());
                self.refuse(&path, value.line, message);
                Vec::new()
            }
        }
    }

    fn check_members(&mut self, item: &ObjectAt<'_>, known: &[&str]) {
        for (member, value) in item.members {
            if !known.contains(&member.as_str()) {
                let message = format!(
                    "`{member}` is not known here: known are `{}`",
                    known.join("`, `")
                );
                self.refuse(&item.path_of(member), value.line, message);
            }
        }
    }
}

impl<'n> ObjectAt<'n> {
    fn member(&self, name: &str) -> Option<&'n NodeAt> {
        let (_, value) = self.members.iter().find(|(key, _)| key == name)?;
        Some(value)
    }

    fn path_of(&self, member: &str) -> String {
        if self.path.is_empty() {
            member.to_owned()
        } else {
            format!("{}.{member}", self.path)
        }
    }

    /// Returns the line of a member, or that of the object if there is none.
    fn line_of(&self, member: &str) -> Option<u64> {
        self.member(member).map_or(self.line, |value| value.line)
    }
}
