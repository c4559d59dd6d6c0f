//! Display metadata of a bundle: an `olm.csv.metadata`, or else the `ClusterServiceVersion` among
//! the inline manifests.
//!
//! One pass over the text locates all fields; accessors read them from the text. A field of the
//! wrong type counts as absent.

mod annotation;
mod console;
mod created;
mod csv;
mod descriptions;
mod install;
mod layout;
pub(crate) mod lists;

pub use console::{first_sentence, short_name};
pub use csv::{CsvMetadata, Link, Maintainer};
pub use descriptions::{ApiServiceDescription, CrdDescription, FieldDescriptor, ResourceReference};
pub use install::{
    PolicyRule, ServiceAccountPermissions, WebhookDescription, WebhookRule, WebhookType,
};
