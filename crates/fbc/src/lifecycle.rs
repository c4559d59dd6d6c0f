//! Support of packages over time: `OpenShift`'s blobs of the schema
//! [`LIFECYCLE_SCHEMA`](crate::LIFECYCLE_SCHEMA).
//!
//! A blob has the life cycles of the minor versions of one package. The first of a package counts.
//! Members of the wrong type count as absent. What is supported today is up to the caller, who
//! knows the day.

use jiff::civil::Date;

use fbc_grammar::version::Version;
use fbc_read::json::JsonText;

use crate::bundle::Bundle;
use crate::ids::NONE;
use crate::metadata::lists;
use crate::package::Package;
use crate::work::{Step, Work, WorkStopped};

/// Support of a minor version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLifecycle<'a> {
    /// The minor version, `MAJOR.MINOR`; empty when it is missing.
    pub version: JsonText<'a>,
    /// Phases of support, in the order of the blob.
    pub phases: Vec<SupportPhase<'a>>,
    /// Platforms that it is compatible with, in the order of the blob.
    pub platforms: Vec<PlatformSupport<'a>>,
}

/// A phase of support, from its first to its last day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportPhase<'a> {
    /// Name, such as `Full support`; empty when it is missing.
    pub name: JsonText<'a>,
    /// First day; `None` when missing or malformed.
    pub start: Option<Date>,
    /// Last day; `None` when missing or malformed.
    pub end: Option<Date>,
}

/// Versions of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformSupport<'a> {
    /// Name of the platform, such as `openshift`; empty when it is missing.
    pub name: JsonText<'a>,
    /// The versions, each `MAJOR.MINOR`.
    pub versions: Vec<JsonText<'a>>,
}

impl<'a> Package<'a> {
    /// Reads the support of its minor versions, in the order of the blob; empty when the catalog
    /// has none.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn lifecycle(self, work: &Work<'_>) -> Result<Vec<VersionLifecycle<'a>>, WorkStopped> {
        let blob = self.catalog().lifecycle_blobs().of_package(self.place());
        if blob == NONE {
            return Ok(Vec::new());
        }
        let blob = self.catalog().meta_at(blob as usize).blob().raw();
        work.draw(Step::JsonByte, 2 * blob.len())?;
        let versions = lists::array_member(blob, "versions").unwrap_or(b"[]");
        Ok(lists::objects_with_text(
            versions,
            ["name"],
            |object, [name]| Some(VersionLifecycle::new(object, name)),
        ))
    }
}

impl<'a> Bundle<'a> {
    /// Reads the support of its minor version; `None` when the life cycles of its package do not
    /// have that.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn lifecycle(self, work: &Work<'_>) -> Result<Option<VersionLifecycle<'a>>, WorkStopped> {
        Ok(self.lifecycle_of(&self.package().lifecycle(work)?).cloned())
    }

    /// Returns the life cycle of its minor version.
    fn lifecycle_of<'l>(
        self,
        lifecycles: &'l [VersionLifecycle<'a>],
    ) -> Option<&'l VersionLifecycle<'a>> {
        if lifecycles.is_empty() {
            return None;
        }
        let name = self.minor_version()?;
        lifecycles
            .iter()
            .find(|lifecycle| lifecycle.version.decode() == name)
    }

    /// Returns its minor version as life cycles name it, such as `1.2`.
    pub fn minor_version(self) -> Option<String> {
        let version = Version::parse(self.version()?).ok()?;
        Some(format!("{}.{}", version.major(), version.minor()))
    }
}

impl<'a> VersionLifecycle<'a> {
    fn new(object: &'a [u8], name: Option<JsonText<'a>>) -> Self {
        let list = |name| lists::array_member(object, name).unwrap_or(b"[]");
        let date = |text: Option<JsonText<'_>>| text.and_then(|text| parse_date(&text.decode()));
        let phases = lists::objects(
            list("phases"),
            ["name", "startDate", "endDate"],
            |[name, start, end]| {
                Some(SupportPhase {
                    name: name.unwrap_or(JsonText::EMPTY),
                    start: date(start),
                    end: date(end),
                })
            },
        );
        let platforms =
            lists::objects_with_text(list("platformCompatibility"), ["name"], |object, [name]| {
                let versions = lists::array_member(object, "versions")
                    .map(lists::strings)
                    .unwrap_or_default();
                Some(PlatformSupport {
                    name: name.unwrap_or(JsonText::EMPTY),
                    versions,
                })
            });
        Self {
            version: name.unwrap_or(JsonText::EMPTY),
            phases,
            platforms,
        }
    }

    /// Returns the first phase that a day is in, from its first to its last day. A phase without
    /// one of them is open on that side; a phase without both has no days.
    pub fn phase_on(&self, day: Date) -> Option<SupportPhase<'a>> {
        let is_in = |phase: &&SupportPhase<'_>| {
            (phase.start.is_some() || phase.end.is_some())
                && phase.start.is_none_or(|start| start <= day)
                && phase.end.is_none_or(|end| day <= end)
        };
        self.phases.iter().find(is_in).copied()
    }

    /// Returns the last day of support: the latest end of a phase.
    pub fn support_end(&self) -> Option<Date> {
        self.phases.iter().filter_map(|phase| phase.end).max()
    }
}

/// Parses a day, `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Option<Date> {
    let is_plain = text.len() == 10
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse()
        .ok()
        .filter(|_| is_plain && text.as_bytes()[4] == b'-')
}
