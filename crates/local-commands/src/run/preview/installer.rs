//! Prints the rights of the service account that installs a bundle (`--installer-rbac`).

use std::io::{self, Write};

use anyhow::bail;
use commands::output::yaml;
use install_preview::{InstallerAccount, RenderedObject, installer_rbac};
use serde_json::{Value, json};

use super::BundlePreview;
use crate::args::{PreviewArgs, PreviewOutput};
use crate::run::output::{ignore_closed_pipe, json as print_json, stdout};

/// Prints the roles and bindings as objects for `kubectl apply`.
pub(super) fn print(preview: &BundlePreview<'_>, args: &PreviewArgs) -> anyhow::Result<()> {
    let account = InstallerAccount {
        namespace: &args.namespace,
        name: args.installer_rbac.as_deref().unwrap_or_default(),
        // As `kubectl catalog manifest` names it.
        extension: preview.bundle.package().name(),
    };
    let objects = installer_rbac(&preview.objects, account)?;
    if args.output == PreviewOutput::Sarif {
        bail!("--installer-rbac prints objects: choose -o yaml or -o json");
    }
    ignore_closed_pipe(write(&mut stdout(), &objects, args.output))?;
    Ok(())
}

fn write(
    out: &mut impl Write,
    objects: &[RenderedObject<'_>],
    format: PreviewOutput,
) -> io::Result<()> {
    let values: Vec<Value> = objects.iter().map(RenderedObject::value).collect();
    if format == PreviewOutput::Json {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": values});
        print_json(out, &list)?;
    } else {
        for value in &values {
            write!(out, "---\n{}", yaml(value))?;
        }
    }
    out.flush()
}
