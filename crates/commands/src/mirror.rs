//! `mirror plan` and `mirror`: which bundles and images of catalogs a disconnected cluster needs.

mod plan;

use serde_json::{Value, json};

use self::plan::MergedPlan;
pub use self::plan::print_problems;
use crate::args::{MirrorNeedArgs, MirrorTargetArgs};
use crate::documents::MIRROR_SET;
use crate::output::{OutputFormat, is_structured, print, print_object};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Selection from one catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorItem {
    /// Name of the catalog.
    pub catalog: String,
    /// The input `MirrorSetInput`.
    pub input: Value,
}

/// Selections of a command, or the reasons why there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirrorRequest {
    /// Selections, in the order of the configuration.
    pub items: Vec<MirrorItem>,
    /// Problems in the form of `MirrorProblem`.
    pub problems: Vec<Value>,
}

/// Schemes that oc-mirror allows before the reference of a catalog.
const SCHEMES: [&str; 3] = ["docker://", "oci://", "oci:"];

/// Formats that are files for other tools: the field of `MirrorSet`, and the variable that asks for
/// it.
static FILES: [(OutputFormat, &str, &str); 4] = [
    (
        OutputFormat::Imageset,
        "imageSetConfiguration",
        "withImageSet",
    ),
    (OutputFormat::Mapping, "mapping", "withMapping"),
    (OutputFormat::Skopeo, "skopeo", "withSkopeo"),
    (OutputFormat::Idms, "imageMirrorSets", "withMirrorSets"),
];

/// Prints what the items select. The status is negative if one of them is refused.
pub async fn mirror<T: GraphqlTransport>(
    session: &CommandSession<T>,
    request: MirrorRequest,
    target: &MirrorTargetArgs,
) -> Result<ExitStatus, CommandError> {
    let file = FILES.iter().find(|(format, ..)| *format == session.output);
    check_output(&session.output, target)?;
    let mut merged = MergedPlan::new(request.items.len() > 1);
    merged.add_problems(request.problems);
    for item in request.items {
        let mut variables = json!({
            "catalog": item.catalog, "input": item.input,
            "to": target.to, "maxNestedPaths": target.max_nested_paths,
        });
        if let Some((_, _, variable)) = file {
            variables[*variable] = true.into();
        }
        let mut data = session.data(MIRROR_SET, &variables).await?;
        let mut set = data["catalog"]["mirrorSet"].take();
        if set.is_null() {
            session
                .check_catalogs(std::slice::from_ref(&item.catalog))
                .await?;
        }
        if let Some((_, field, _)) = file {
            merged.add_file(set[*field].take());
        }
        merged.add(&item.catalog, set);
    }

    let status = ExitStatus::negative_if(merged.is_refused());
    if is_structured(&session.output) {
        print_object("MirrorPlan", &merged.into_plan(), &session.output)?;
        return Ok(status);
    }
    print_problems(&merged.problems);
    if status != ExitStatus::Success {
        return Ok(status);
    }
    let text = match &session.output {
        OutputFormat::Lines => merged.image_lines(),
        OutputFormat::Imageset
        | OutputFormat::Mapping
        | OutputFormat::Skopeo
        | OutputFormat::Idms => merged.file(&session.output)?,
        _ => merged.bundle_table(session.has_headers),
    };
    print(&text)?;
    Ok(ExitStatus::Success)
}

/// Returns the reference of a catalog in a configuration without its scheme.
pub fn without_scheme(reference: &str) -> &str {
    let stripped = SCHEMES
        .iter()
        .find_map(|scheme| reference.strip_prefix(scheme));
    stripped.unwrap_or(reference)
}

/// Fails for formats that a plan does not have, and if the registry to copy to is missing.
pub fn check_output(output: &OutputFormat, target: &MirrorTargetArgs) -> Result<(), CommandError> {
    let needs_target = matches!(
        output,
        OutputFormat::Mapping | OutputFormat::Skopeo | OutputFormat::Idms
    );
    if needs_target && target.to.is_none() {
        let message = "the outputs mapping, skopeo and idms need the registry to copy to: --to HOST[:PORT][/PATH]";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    let is_known = is_structured(output)
        || needs_target
        || matches!(
            output,
            OutputFormat::Table | OutputFormat::Lines | OutputFormat::Imageset
        );
    if is_known {
        return Ok(());
    }
    let message = "`mirror` prints table, lines, mapping, imageset, skopeo, idms, json, yaml or jsonpath=TEMPLATE";
    Err(CommandError::new(ExitStatus::Usage, message))
}

impl MirrorNeedArgs {
    /// Returns the input `MirrorSetInput` for the packages; `None` if none is named.
    ///
    /// # Errors
    /// If members for one package are given for several.
    pub fn input(&self) -> Result<Option<Value>, CommandError> {
        let has_details = !self.from.is_empty() || self.up_to.is_some() || !self.channel.is_empty();
        if has_details && self.package.len() > 1 {
            let message = "--from, --up-to and --channel are about one package: write the command once for each --package";
            return Err(CommandError::new(ExitStatus::Usage, message));
        }
        if self.package.is_empty() {
            return Ok(None);
        }
        let channels: Vec<_> = self
            .channel
            .iter()
            .map(|name| json!({ "name": name }))
            .collect();
        let packages = self.package.iter().map(|name| {
            let mut package = json!({
                "name": name, "channels": channels, "from": self.from, "to": self.up_to,
                "dependencies": self.dependencies,
            });
            self.add_platform(&mut package);
            // A channel that is named alone becomes the default one.
            if let [channel] = &*self.channel {
                package["defaultChannel"] = channel.as_str().into();
            }
            package
        });
        Ok(Some(json!({ "packages": packages.collect::<Vec<_>>() })))
    }

    /// Adds the platform of the cluster to a `MirrorPackageInput`.
    pub fn add_platform(&self, package: &mut Value) {
        if self.openshift.is_some() || self.kubernetes.is_some() {
            package["platform"] =
                json!({ "openshift": self.openshift, "kubernetes": self.kubernetes });
        }
    }
}
