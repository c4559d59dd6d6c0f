//! Lists that a registry sends in pages: referrers of a manifest, tags of a repository, and
//! repositories.

use fbc_grammar::Digest;
use oci_client::manifest::OciDescriptor;
use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;

use super::session::{REFERRERS, RegistrySession, ResourceRequest};
use crate::ImageError;

/// Maximum number of pages of a list.
pub const MAX_LIST_PAGES: usize = 1_000;

/// Maximum length in bytes of all pages of a list.
pub const MAX_LIST_BYTES: u64 = 32 << 20;

/// Number of items that a page should have.
const PAGE_ITEMS: usize = 1_000;

/// Statuses of registries that do not have a list.
const WITHOUT_LIST: [u16; 4] = [400, 405, 406, 501];

#[derive(Deserialize)]
struct ReferrersPage {
    #[serde(default)]
    manifests: Vec<ListedReferrer>,
}

/// A manifest that refers to another one, as a list has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedReferrer {
    pub(crate) artifact_type: Option<String>,
    #[serde(flatten)]
    pub(crate) descriptor: OciDescriptor,
}

#[derive(Deserialize)]
struct TagsPage {
    /// `null` in a repository without tags.
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RepositoriesPage {
    repositories: Option<Vec<String>>,
}

impl RegistrySession {
    /// Lists the manifests that refer to one; `None` if the registry does not have such lists.
    pub(crate) async fn referrers(
        &self,
        digest: Digest,
    ) -> Result<Option<Vec<ListedReferrer>>, ImageError> {
        let resource = format!("the referrers of {digest}");
        let pages = self.pages(&resource, format!("{REFERRERS}{digest}")).await;
        let Some(pages) = existing(pages)? else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for page in pages {
            let page: ReferrersPage = parse(&page, &resource)?;
            all.extend(page.manifests);
        }
        Ok(Some(all))
    }

    /// Lists the manifests that refer to one, also where the registry does not have such lists: then
    /// they are in an index under a tag (OCI distribution specification, "Referrers Tag Schema").
    pub(crate) async fn find_referrers(
        &self,
        digest: Digest,
    ) -> Result<Vec<ListedReferrer>, ImageError> {
        if let Some(listed) = self.referrers(digest).await? {
            return Ok(listed);
        }
        let tag = format!("sha256-{}", digest.hex());
        match self.find_manifest(&tag).await? {
            // Other tools give an image a tag of this form.
            Some((_, found)) if found == digest => Ok(Vec::new()),
            Some((index, _)) => {
                let page: ReferrersPage = parse(&index, &format!("the tag `{tag}`"))?;
                Ok(page.manifests)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Lists the tags of the repository; `None` if it does not exist.
    pub(crate) async fn tags(&self) -> Result<Option<Vec<String>>, ImageError> {
        let resource = "the list of tags".to_owned();
        let pages = self.pages(&resource, format!("tags/list?n={PAGE_ITEMS}"));
        let Some(pages) = existing(pages.await)? else {
            return Ok(None);
        };
        let mut all = Vec::new();
        for page in pages {
            let page: TagsPage = parse(&page, &resource)?;
            all.extend(page.tags.unwrap_or_default());
        }
        Ok(Some(all))
    }

    /// Lists the repositories of the registry; `None` if it does not tell.
    pub(crate) async fn repositories(&self) -> Result<Option<Vec<String>>, ImageError> {
        let resource = "the list of repositories".to_owned();
        let pages = self.pages(&resource, format!("/v2/_catalog?n={PAGE_ITEMS}"));
        let pages = match existing(pages.await) {
            // Many registries show it to administrators only.
            Err(
                ImageError::NoCredentials { .. }
                | ImageError::CredentialsRejected { .. }
                | ImageError::Forbidden { .. },
            )
            | Ok(None) => return Ok(None),
            Ok(Some(pages)) => pages,
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for page in pages {
            let page: RepositoriesPage = parse(&page, &resource)?;
            all.extend(page.repositories.unwrap_or_default());
        }
        Ok(Some(all))
    }

    /// Downloads all pages of a list.
    async fn pages(&self, resource: &str, path: String) -> Result<Vec<Vec<u8>>, ImageError> {
        let mut pages = Vec::new();
        let mut rest = MAX_LIST_BYTES;
        let mut next = Some(path);
        while let Some(path) = next {
            if pages.len() >= MAX_LIST_PAGES {
                return Err(self.invalid_list(resource, "it has too many pages"));
            }
            let request = ResourceRequest {
                resource,
                path: &path,
                from: 0,
                bytes: rest,
            };
            let (page, headers) = self.download(request).await?;
            rest = rest.saturating_sub(page.len() as u64);
            pages.push(page);
            next = self.next_page(resource, &path, &headers)?;
        }
        Ok(pages)
    }

    /// Returns the path of the next page (RFC 8288). It must be of the same list.
    fn next_page(
        &self,
        resource: &str,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Option<String>, ImageError> {
        let Some(link) = headers.get(LINK).and_then(|value| value.to_str().ok()) else {
            return Ok(None);
        };
        let link = link.split(',').find(|link| link.contains("rel=\"next\""));
        let target = link.and_then(|link| link.split_once('<')?.1.split_once('>'));
        let Some((target, _)) = target else {
            return Ok(None);
        };
        let list = path.split('?').next().unwrap_or_default();
        let base = self.url("https", list);
        let found = Url::parse(&base).and_then(|base| Ok((base.join(target)?, base)));
        match found {
            Ok((next, base)) if next.path() == base.path() && self.is_own(&next) => {
                Ok(next.query().map(|query| format!("{list}?{query}")))
            }
            _ => Err(self.invalid_list(resource, "its next page is elsewhere")),
        }
    }

    fn invalid_list(&self, resource: &str, reason: &'static str) -> ImageError {
        ImageError::InvalidList {
            resource: resource.to_owned(),
            location: self.location.to_string(),
            reason,
        }
    }
}

/// Returns the pages of a list; `None` if the registry does not have it.
fn existing(pages: Result<Vec<Vec<u8>>, ImageError>) -> Result<Option<Vec<Vec<u8>>>, ImageError> {
    match pages {
        Ok(pages) => Ok(Some(pages)),
        Err(ImageError::NotFound { .. }) => Ok(None),
        Err(ImageError::Status { status, .. }) if WITHOUT_LIST.contains(&status) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse<'a, T: Deserialize<'a>>(page: &'a [u8], resource: &str) -> Result<T, ImageError> {
    serde_json::from_slice(page).map_err(|source| ImageError::Manifest {
        resource: resource.to_owned(),
        source,
    })
}
