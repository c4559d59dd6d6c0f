//! Display metadata of all packages, in package order.

use std::ops::Range;

use jiff::Timestamp;

use crate::csv_enums::{CapabilityLevel, InstallModes};
use crate::names::{Name, NameTable};

/// Summaries of all packages, in package order.
pub(crate) struct Summaries {
    pub(crate) names: NameTable,
    /// Keywords, categories and features.
    pub(crate) words: Vec<Name>,
    pub(crate) records: Vec<SummaryRecord>,
}

#[derive(Default)]
pub(crate) struct SummaryRecord {
    /// Id of the bundle that the metadata comes from, or [`NONE`](crate::record::NONE).
    pub(crate) bundle: u32,
    pub(crate) display_name: Option<Name>,
    pub(crate) summary: Option<Name>,
    pub(crate) provider_name: Option<Name>,
    pub(crate) provider_url: Option<Name>,
    pub(crate) provider_short_name: Option<Name>,
    /// Folded display name, or else name of the package.
    pub(crate) sort_name: Option<Name>,
    pub(crate) keywords: Range<u32>,
    pub(crate) categories: Range<u32>,
    pub(crate) features: Range<u32>,
    pub(crate) architectures: Range<u32>,
    pub(crate) operating_systems: Range<u32>,
    pub(crate) subscriptions: Range<u32>,
    pub(crate) capability_level: Option<CapabilityLevel>,
    pub(crate) install_modes: InstallModes,
    pub(crate) certified: Option<bool>,
    pub(crate) created_at: Option<Timestamp>,
}
