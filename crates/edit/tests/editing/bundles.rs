//! Each recorded bundle is rendered as `opm render` rendered it.

use edit::bundle::{Migration, render};
use serde_json::Value;

use crate::support::{Bundle, lines};

/// Bundles that are refused with another text, and why.
const DIFFERENCES: [(&str, &str); 1] = [(
    "nut-1.0.0-noann",
    "the directory that is missing is named by what it holds, not by Go's error",
)];

#[test]
fn every_recorded_bundle_is_rendered_as_opm_renders_it() {
    let mut faults = Vec::new();
    let bundles: Vec<Bundle> = lines("bundles.jsonl.gz");
    for bundle in &bundles {
        let found = render(&bundle.files(), &bundle.image, Migration::None);
        let found =
            found.map(|rendered| serde_json::from_str::<Value>(&rendered.blob.to_json()).unwrap());
        let expected = match (&bundle.rendered, &bundle.error) {
            (Some(rendered), _) => Ok(sorted(rendered.clone())),
            (None, error) => Err(error.clone().unwrap()),
        };
        let found = found.map(sorted).map_err(|error| error.to_string());
        let is_different = DIFFERENCES.iter().any(|(id, _)| *id == bundle.id);
        if (found == expected) == is_different {
            faults.push(format!(
                "{}: expected {expected:?}, found {found:?}",
                bundle.id
            ));
        }
    }
    assert_eq!(bundles.len(), 291);
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        bundles.len(),
        faults.join("\n")
    );
}

/// Sorts properties: `opm` sorts values by their text as it was written, which sorted keys change.
fn sorted(mut bundle: Value) -> Value {
    if let Some(properties) = bundle["properties"].as_array_mut() {
        properties.sort_by_key(ToString::to_string);
    }
    bundle
}
