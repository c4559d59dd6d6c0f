//! Previews of installs: the objects that an install of a registry+v1 bundle creates, and what they
//! may do.
//!
//! The crate renders as the OLM v1 controller does, to the letter: names of roles, order of
//! objects, and reasons for a refusal. It is pure: it opens no file or socket, reads no clock or
//! environment, and starts no thread. Callers pass the manifests, which come from a catalog or from
//! the image of the bundle.
//!
//! | module | what it is for |
//! |---|---|
//! | [`bundle`] | reads manifests and metadata |
//! | `go_struct` | converts JSON as it passes through the Go structs of upstream |
//! | `validate`, `targets` | rules for bundles, and for the namespaces that they watch |
//! | [`render`](mod@render) | renders the objects |
//! | [`rights`] | what accounts may do, and what is risky about it |
//! | [`summary`] | what an install means, and how it differs from another |
//! | [`crd_upgrade`] | changes of definitions that OLM v1 refuses |
//!
//! ```
//! use install_preview::{BundleManifestFile, RegistryBundle, RenderOptions, render};
//!
//! let csv = br#"
//! kind: ClusterServiceVersion
//! metadata: {name: etcd.v1}
//! spec:
//!   installModes: [{type: AllNamespaces, supported: true}]
//!   install: {spec: {permissions: [{serviceAccountName: etcd, rules: []}]}}
//! "#;
//! let file = BundleManifestFile { name: "csv.yaml".into(), bytes: csv.into() };
//! let bundle = RegistryBundle::read("etcd", &[file])?;
//! let options = RenderOptions { install_namespace: "etcd".to_owned(), ..RenderOptions::default() };
//! let rendering = render(&bundle, &options).map_err(|mut errors| errors.remove(0))?;
//! let kinds: Vec<_> = rendering.objects.iter().map(|object| &*object.kind).collect();
//! assert_eq!(kinds, ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
//! # Ok::<(), install_preview::PreviewError>(())
//! ```

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod bundle;
pub mod crd_upgrade;
mod csv;
pub mod error;
mod go_json;
mod go_struct;
mod names;
mod permission_query;
mod quantity;
pub mod render;
pub mod rights;
pub mod summary;
mod targets;
mod validate;

pub use bundle::{BundleDirectory, BundleManifestFile, RegistryBundle, package_name};
pub use csv::RbacRule;
pub use error::{PreviewError, PreviewErrorCode};
pub use permission_query::PermissionQuery;
pub use render::{
    CertificateProvider, DeploymentConfig, InstallerAccount, RenderOptions, RenderedObject,
    Rendering, installer_rbac, refusals, render,
};
pub use rights::{RightsFlag, RightsScope};
pub use targets::is_namespace_name;
