//! Batches in the bodies of requests.

use edit::Operation;
use edit::bundle::{BundleError, RenderBudget, RenderedBundle};
use edit::input::{BundleInput, InputError, read_batch};

use crate::error::EditRequestError;
use crate::{MAX_BUNDLES, MAX_NAMES, MAX_OPERATIONS, MAX_RENDERED_BYTES};

/// Reads a batch, and renders the bundles that it adds.
pub(crate) fn parse_and_render(
    body: &[u8],
) -> Result<Vec<Operation<RenderedBundle>>, EditRequestError> {
    let batch = read_batch(body)?;
    if batch.len() > MAX_OPERATIONS {
        return Err(EditRequestError::TooMany {
            what: "operations",
            limit: MAX_OPERATIONS,
        });
    }

    let mut bundles = 0;
    let mut budget = RenderBudget::new(MAX_RENDERED_BYTES);
    let mut render = |bundle: BundleInput| {
        bundles += 1;
        if bundles > MAX_BUNDLES {
            return Err(EditRequestError::TooMany {
                what: "bundles",
                limit: MAX_BUNDLES,
            });
        }
        bundle.render(&mut budget).map_err(|error| match error {
            InputError::Files {
                source: BundleError::TooLarge,
                ..
            } => EditRequestError::TooMany {
                what: "bytes of manifests once their aliases are resolved",
                limit: MAX_RENDERED_BYTES,
            },
            error => EditRequestError::Bundle(error),
        })
    };
    let batch: Vec<_> = batch
        .into_iter()
        .map(|operation| operation.try_map(&mut render))
        .collect::<Result<_, _>>()?;

    if batch.iter().map(Operation::names).sum::<usize>() > MAX_NAMES {
        return Err(EditRequestError::TooMany {
            what: "names of packages, channels, bundles and images",
            limit: MAX_NAMES,
        });
    }
    Ok(batch)
}
