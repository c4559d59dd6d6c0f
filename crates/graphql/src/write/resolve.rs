//! `Query.resolve`, `Resolution` and `ResolutionFailure`.

use fbc::Package;
use fbc::similar::similar_names;
use fbc::work::{Work, WorkStopped};
use fbc_grammar::selector::Selector;
use fbc_graph::resolve::{
    Considered, FailureCode, InstalledBundle, Offer, Rejection, Resolution, ResolutionFailure,
    ResolutionRequest, UpgradePolicy, resolve,
};
use serving::{Served, Snapshot};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{ConsideredBundleField, ResolutionFailureField, ResolutionField};
use crate::filter;
use crate::input::{self, ResolveRequestInput, UpgradeConstraintPolicyInput};

/// The type `Resolution`, with the catalogs that were considered.
#[derive(Clone, Copy)]
struct ResolutionObject<'r, 'a> {
    served: &'r [&'a Served],
    resolution: &'r Resolution<'a>,
}

/// The type `ResolutionFailure`, with the catalogs that were considered.
#[derive(Clone, Copy)]
struct ResolutionFailureObject<'r, 'a> {
    served: &'r [&'a Served],
    failure: &'r ResolutionFailure<'a>,
    package: &'a str,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.resolve`.
    pub(super) fn resolution(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let request: ResolveRequestInput<'_> =
            input::read(arguments(field).get("request")).expect("the argument is required");
        let package = request.package_name;
        let mut served = selected(snapshot, request.catalogs.as_deref().unwrap_or_default());
        let mut refused = None;
        if request.require_verified {
            let others: Vec<_> = served
                .extract_if(.., |served| !served.is_verified())
                .collect();
            refused = not_verified(package, &served, &others);
        }
        let resolved = match refused {
            Some(failure) => Err(failure),
            None => resolve_request(&request, &served, self.work)?,
        };
        match resolved {
            Ok(resolution) => self.object(
                ResolutionObject {
                    served: &served,
                    resolution: &resolution,
                },
                field,
            ),
            Err(failure) => self.object(
                ResolutionFailureObject {
                    served: &served,
                    failure: &failure,
                    package,
                },
                field,
            ),
        }
    }
}

/// Returns the failure of a request for verified catalogs, if only others have the package.
fn not_verified<'a>(
    package: &str,
    verified: &[&Served],
    others: &[&Served],
) -> Option<ResolutionFailure<'a>> {
    let has_package = |served: &&&Served| served.content.catalog.package(package).is_some();
    let names: Vec<_> = others
        .iter()
        .filter(has_package)
        .map(|served| format!("`{}`", served.name))
        .collect();
    if names.is_empty() || verified.iter().any(|served| has_package(&served)) {
        return None;
    }
    Some(ResolutionFailure {
        code: FailureCode::CatalogNotVerified,
        message: format!(
            "verified catalogs are required, and only catalogs that are not have the package `{package}`: {}",
            names.join(", ")
        ),
        considered: Vec::new(),
    })
}

/// Returns the catalogs that a request names; all if it names none.
pub(super) fn selected<'a>(snapshot: &'a Snapshot, names: &[&str]) -> Vec<&'a Served> {
    let is_selected = |served: &&Served| names.is_empty() || names.contains(&served.name.as_str());
    snapshot
        .by_name()
        .map(|served| &**served)
        .filter(is_selected)
        .collect()
}

/// Resolves a `ResolutionRequest` over some catalogs.
fn resolve_request<'a>(
    request: &ResolveRequestInput<'_>,
    served: &[&'a Served],
    work: &Work<'_>,
) -> Result<Result<Resolution<'a>, ResolutionFailure<'a>>, WorkStopped> {
    let selector = match request.selector.map(Selector::parse).transpose() {
        Ok(selector) => selector,
        Err(error) => return Ok(Err(error.into())),
    };
    let platform = match filter::platform(request.compatible_with) {
        Ok(platform) => platform,
        Err(error) => return Ok(Err(error.into())),
    };
    let offers: Vec<_> = served
        .iter()
        .map(|served| Offer {
            name: &served.name,
            priority: served.metadata.priority,
            labels: &served.metadata.labels,
            content: Ok(&served.content.catalog),
        })
        .collect();
    let request = ResolutionRequest {
        package: request.package_name,
        version: request.version.unwrap_or_default(),
        channels: request.channels.as_deref().unwrap_or_default(),
        selector: selector.as_ref(),
        installed: request.installed.map(|installed| InstalledBundle {
            name: installed.name,
            version: installed.version,
            release: installed.release,
        }),
        policy: match request.upgrade_constraint_policy {
            UpgradeConstraintPolicyInput::SelfCertified => UpgradePolicy::SelfCertified,
            UpgradeConstraintPolicyInput::CatalogProvided => UpgradePolicy::CatalogProvided,
        },
        platform,
        ..ResolutionRequest::default()
    };
    resolve(&request, &offers, work)
}

fn considered<'r, 'a>(
    served: &'r [&'a Served],
    considered: &'r [Considered<'a>],
) -> impl Iterator<Item = InCatalog<'a, Considered<'a>>> {
    considered.iter().map(|item| InCatalog {
        served: served[item.offer],
        item: *item,
    })
}

impl<'a> Object<'a> for ResolutionObject<'_, 'a> {
    type Field = ResolutionField;

    fn write(
        self,
        name: ResolutionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { served, resolution } = self;
        match name {
            ResolutionField::Bundle => writer.object(
                InCatalog {
                    served: served[resolution.offer],
                    item: resolution.bundle,
                },
                field,
            ),
            ResolutionField::Deprecations => {
                writer.object_list(resolution.deprecations.iter().copied(), field)
            }
            ResolutionField::Considered => {
                writer.object_list(considered(served, &resolution.considered), field)
            }
        }
    }
}

impl<'a> Object<'a> for ResolutionFailureObject<'_, 'a> {
    type Field = ResolutionFailureField;

    fn write(
        self,
        name: ResolutionFailureField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self {
            served,
            failure,
            package,
        } = self;
        match name {
            ResolutionFailureField::Code => writer.static_string(failure.code.as_str()),
            ResolutionFailureField::Message => writer.string(&failure.message),
            ResolutionFailureField::Considered => {
                return writer.object_list(considered(served, &failure.considered), field);
            }
            ResolutionFailureField::SimilarNames
                if failure.code == FailureCode::PackageNotFound =>
            {
                let names = served
                    .iter()
                    .flat_map(|served| served.content.catalog.packages().map(Package::name));
                writer.strings(similar_names(package, names, writer.work)?);
            }
            ResolutionFailureField::SimilarNames => writer.strings([]),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, Considered<'a>> {
    type Field = ConsideredBundleField;

    fn write(
        self,
        name: ConsideredBundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ConsideredBundleField::Bundle => {
                return writer.object(self.with(self.item.bundle), field);
            }
            ConsideredBundleField::Rejection => {
                writer.optional_string(self.item.rejection.map(Rejection::as_str));
            }
        }
        Ok(())
    }
}
