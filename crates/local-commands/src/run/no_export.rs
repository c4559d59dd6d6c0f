//! The place of `export` in builds without the feature `export-parquet`.

use std::process::ExitCode;

use anyhow::bail;

use crate::args::ExportArgs;

/// Refuses the command.
pub(super) fn export(_: &ExportArgs) -> anyhow::Result<ExitCode> {
    bail!(
        "cannot export catalogs: this build has no Parquet: build it with the feature export-parquet, or use a release"
    )
}
