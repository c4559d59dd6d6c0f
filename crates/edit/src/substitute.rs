//! Bundles that stand in for others (`olm.substitutesFor`): they take over the edges of these, and
//! skip them.

use std::collections::BTreeSet;

use crate::state::{Bundle, Package};

/// Changes the edges of new bundles, and those of entries that lead to bundles which new ones stand
/// in for. Returns the channels of these.
pub(crate) fn substitute(package: &mut Package, new: &mut [Bundle]) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for at in 0..new.len() {
        let Some(placement) = new[at]
            .placement
            .clone()
            .filter(|placement| !placement.substitutes_for.is_empty())
        else {
            continue;
        };
        let name = new[at].name.clone();
        let base = placement.substitutes_for;
        for channel in package
            .channels
            .iter_mut()
            .filter(|channel| channel.entry(&base).is_some())
        {
            touched.insert(channel.name.clone());
            for entry in &mut channel.entries {
                redirect(&mut entry.replaces, &mut entry.skips, &base, &name);
            }
        }
        for other in &mut *new {
            if let Some(placement) = other.placement.as_mut().filter(|_| other.name != name) {
                redirect(&mut placement.replaces, &mut placement.skips, &base, &name);
            }
        }
        if let Some(placement) = &mut new[at].placement
            && !placement.skips.contains(&base)
        {
            placement.skips.push(base);
        }
    }
    touched
}

/// Lets edges that lead to a bundle lead to what stands in for it.
fn redirect(replaces: &mut String, skips: &mut Vec<String>, base: &str, name: &str) {
    if replaces == base {
        name.clone_into(replaces);
    }
    if skips.iter().any(|skip| skip == base) && !skips.iter().any(|skip| skip == name) {
        skips.push(name.to_owned());
    }
}
