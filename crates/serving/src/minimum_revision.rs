//! Minimum revisions: the contents that a client has seen, of which it wants no earlier ones.
//!
//! Digests have no order. What a replica has served in which order is in its change logs.

use fbc_grammar::Digest;

use super::name::CatalogName;
use super::{CatalogSourceKind, Snapshot};

/// Maximum number of minimum revisions of a request. For each, the change log of a catalog is
/// searched.
pub const MAX_MINIMUM_REVISIONS: usize = 16;

/// A content of a catalog that a client has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinimumRevision {
    /// Name of the catalog.
    pub catalog: CatalogName,
    /// Digest of the content.
    pub content: Digest,
}

/// An error of parsing minimum revisions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MinimumRevisionError {
    /// A member of the list is not a name with a digest.
    #[error("a minimum revision is malformed: expected CATALOG=sha256:DIGEST")]
    Malformed,
    /// The list is too long.
    #[error("more than {MAX_MINIMUM_REVISIONS} minimum revisions: send those of fewer catalogs")]
    TooMany,
}

impl MinimumRevision {
    /// Parses lists of `CATALOG=sha256:DIGEST`, separated by commas. Empty members are ignored, as in
    /// all lists of HTTP (RFC 9110 §5.6.1).
    pub fn parse_lists<'t>(
        lists: impl IntoIterator<Item = &'t str>,
    ) -> Result<Vec<Self>, MinimumRevisionError> {
        let members = lists.into_iter().flat_map(|list| list.split(','));
        let members = members.map(|member| member.trim_matches([' ', '\t']));
        let mut all = Vec::new();
        for member in members.filter(|member| !member.is_empty()) {
            if all.len() == MAX_MINIMUM_REVISIONS {
                return Err(MinimumRevisionError::TooMany);
            }
            all.push(Self::parse(member).ok_or(MinimumRevisionError::Malformed)?);
        }
        Ok(all)
    }

    fn parse(text: &str) -> Option<Self> {
        let (catalog, content) = text.split_once('=')?;
        Some(Self {
            catalog: CatalogName::new(catalog).ok()?,
            content: Digest::parse(content)?,
        })
    }
}

impl Snapshot {
    /// Returns whether responses from the snapshot are as new as a minimum revision: the catalog has
    /// this content, or had it before its current one. A catalog that is not served, and will not be
    /// soon, has no content that could be older.
    pub fn has_reached(&self, minimum: &MinimumRevision) -> bool {
        let name = minimum.catalog.as_str();
        match self.get(name) {
            Some(served) => {
                served.content.digest == minimum.content
                    || self.change_log(served).has_content(&minimum.content)
            }
            None => !self.awaits(name),
        }
    }

    /// Returns whether a load of the source of a catalog proves that its content is current. A
    /// directory may be between two changes at any time.
    pub fn has_checkable_source(&self, name: &str) -> bool {
        let source = self.status(name).source;
        self.get(name).is_some()
            && source.is_some_and(|source| source.kind != CatalogSourceKind::Directory)
    }

    /// Returns `CATALOG=sha256:DIGEST` of the contents of these catalogs, separated by commas, without
    /// those that are not served.
    pub fn revisions<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let served = names.into_iter().filter_map(|name| self.get(name));
        let members: Vec<_> = served
            .map(|served| format!("{}={}", served.name, served.content.digest))
            .collect();
        members.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use fbc::outline::Diff;
    use jiff::Timestamp;

    use super::*;
    use crate::{
        CatalogMetadata, CatalogsWriter, Content, LoadStatus, Served, Visibility, catalogs,
    };

    fn digest(byte: u8) -> Digest {
        Digest::new([byte; 32])
    }

    fn minimum(catalog: &str, byte: u8) -> MinimumRevision {
        MinimumRevision {
            catalog: CatalogName::new(catalog).unwrap(),
            content: digest(byte),
        }
    }

    fn publish(writer: &mut CatalogsWriter, name: &str, byte: u8) {
        let content = Content::new(testing::fixture::catalog(""), digest(byte));
        writer.publish(Served::new(name, content, CatalogMetadata::default()));
        let history = writer.history();
        let log = history.change_log(name).unwrap_or_default();
        let log = log.append(digest(byte), None::<&Diff<'_>>, Timestamp::UNIX_EPOCH);
        history.set_change_log(name, log);
    }

    #[test]
    fn a_list_names_a_content_of_each_catalog() {
        let [one, two] = [digest(1), digest(2)].map(|digest| digest.to_string());
        let first = format!("a={one} ,\t1.b={two},, ");
        let second = format!("c={one}");
        let parsed = MinimumRevision::parse_lists([&*first, "", &second]).unwrap();
        assert_eq!(
            parsed,
            [minimum("a", 1), minimum("1.b", 2), minimum("c", 1)]
        );
        assert_eq!(MinimumRevision::parse_lists([" , "]), Ok(Vec::new()));
    }

    #[test]
    fn a_malformed_or_too_long_list_is_an_error() {
        let one = digest(1).to_string();
        for malformed in [
            one.clone(),
            "a".to_owned(),
            format!("={one}"),
            format!("A={one}"),
            format!("{}={one}", "a".repeat(CatalogName::LENGTH + 1)),
            format!("a={}", &one[1..]),
            format!("a={one}0"),
            format!("a=\"{one}\""),
            format!("a={one};q=1"),
        ] {
            assert_eq!(
                MinimumRevision::parse_lists([&*malformed]),
                Err(MinimumRevisionError::Malformed),
                "{malformed}"
            );
        }
        let list = |count: usize| vec![format!("a={one}"); count].join(",");
        let most = MinimumRevision::parse_lists([&*list(MAX_MINIMUM_REVISIONS)]).unwrap();
        assert_eq!(most.len(), MAX_MINIMUM_REVISIONS);
        assert_eq!(
            MinimumRevision::parse_lists([&*list(MAX_MINIMUM_REVISIONS), &format!("a={one}")]),
            Err(MinimumRevisionError::TooMany)
        );
    }

    #[test]
    fn a_catalog_has_reached_its_content_and_those_that_it_had_before() {
        let (mut writer, catalogs) = catalogs();
        let reached = |byte| catalogs.snapshot().has_reached(&minimum("a", byte));
        publish(&mut writer, "a", 1);
        assert_eq!([1, 2].map(reached), [true, false]);
        publish(&mut writer, "a", 2);
        publish(&mut writer, "a", 3);
        assert_eq!([1, 2, 3, 4].map(reached), [true, true, true, false]);
        let snapshot = catalogs.snapshot();
        assert_eq!(
            snapshot.revisions(["b", "a"]),
            format!("a={}", digest(3)),
            "only served catalogs have a content"
        );
    }

    #[test]
    fn a_catalog_that_is_hidden_is_as_one_that_does_not_exist() {
        let (mut writer, catalogs) = catalogs();
        publish(&mut writer, "secret", 1);
        writer.statuses().set("late", LoadStatus::default());
        let of_caller = catalogs.visible(Visibility::none()).snapshot();
        for name in ["secret", "late", "missing"] {
            assert!(of_caller.has_reached(&minimum(name, 2)), "{name}");
        }
        assert_eq!(of_caller.revisions(["secret", "missing"]), "");
        // A caller that sees it waits for the first content.
        let snapshot = catalogs.snapshot();
        let reached =
            ["secret", "late", "missing"].map(|name| snapshot.has_reached(&minimum(name, 2)));
        assert_eq!(reached, [false, false, true]);
    }
}
