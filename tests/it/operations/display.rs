//! What consoles show of a package, read from its metadata by the rules of the specification and
//! nothing else.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use serde_json::{Value, json};

use super::model::{Bundle, text};

/// Capability levels as authors write them and as the schema does.
const LEVELS: [(&str, &str); 5] = [
    ("basic install", "BASIC_INSTALL"),
    ("seamless upgrades", "SEAMLESS_UPGRADES"),
    ("full lifecycle", "FULL_LIFECYCLE"),
    ("deep insights", "DEEP_INSIGHTS"),
    ("auto pilot", "AUTO_PILOT"),
];

/// Install modes as authors write them and as the schema does.
const MODES: [(&str, &str); 4] = [
    ("OwnNamespace", "OWN_NAMESPACE"),
    ("SingleNamespace", "SINGLE_NAMESPACE"),
    ("MultiNamespace", "MULTI_NAMESPACE"),
    ("AllNamespaces", "ALL_NAMESPACES"),
];

/// What annotations about platform features begin with.
const FEATURE: &str = "features.operators.openshift.io/";

/// The older annotation, a list.
const FEATURES: &str = "operators.openshift.io/infrastructure-features";

/// The metadata on the page of a package.
pub(super) fn in_details(bundle: &Bundle) -> Value {
    let metadata = bundle
        .values("olm.csv.metadata")
        .next()
        .expect("bundles of the corpus have metadata");
    let pairs = |list: &str, members: [&str; 2]| -> Vec<Value> {
        let items = metadata[list].as_array().into_iter().flatten();
        items
            .map(|item| {
                members
                    .into_iter()
                    .map(|member| (member, json!(text(item, member))))
                    .collect()
            })
            .collect()
    };
    json!({
        "displayName": text(metadata, "displayName"),
        "description": text(metadata, "description"),
        "links": pairs("links", ["name", "url"]),
        "maintainers": pairs("maintainers", ["name", "email"]),
        "repository": trimmed(metadata, "repository"),
        "support": trimmed(metadata, "support"),
        "createdAt": trimmed(metadata, "createdAt").and_then(moment).map(|moment| moment.to_string()),
        "containerImage": trimmed(metadata, "containerImage"),
        "provider": provider(metadata).or(text(&metadata["provider"], "url")).map(|_| json!({
            "name": provider(metadata),
            "shortName": provider(metadata).map(short_name),
            "url": text(&metadata["provider"], "url"),
        })),
        "categories": categories(metadata),
        "capabilityLevel": capability_level(metadata),
        "maturity": text(metadata, "maturity"),
        "minKubeVersion": text(metadata, "minKubeVersion"),
        "installModes": MODES.map(|(_, mode)| mode).into_iter().filter(|mode| install_modes(metadata).contains(mode)).collect::<Vec<_>>(),
        "infrastructureFeatures": features(metadata),
        "architectures": supported(metadata, "arch", "amd64"),
        "certified": certified(metadata),
        "validSubscriptions": subscriptions(metadata),
        "suggestedNamespace": suggested_namespace(metadata),
    })
}

pub(super) fn provider(metadata: &'static Value) -> Option<&'static str> {
    text(&metadata["provider"], "name")
}

/// The name without the words of a legal form at its end.
pub(super) fn short_name(name: &'static str) -> &'static str {
    let forms = [
        "inc",
        "llc",
        "ltd",
        "gmbh",
        "corp",
        "co",
        "ag",
        "sa",
        "limited",
        "corporation",
    ];
    let words: Vec<&str> = name
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let is_form = |word: &&&str| forms.contains(&word.replace('.', "").to_lowercase().as_str());
    let kept = words.len() - words.iter().rev().take_while(is_form).count();
    let Some(last) = words[..kept].last() else {
        return name;
    };
    let end = last.as_ptr().addr() - name.as_ptr().addr() + last.len();
    &name[..end]
}

/// What labels say is supported, or what is assumed without such labels.
pub(super) fn supported(metadata: &'static Value, kind: &str, assumed: &str) -> BTreeSet<String> {
    let prefix = format!("operatorframework.io/{kind}.");
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let own: Vec<_> = labels
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value == "supported")))
        .collect();
    if own.is_empty() {
        return [assumed.to_owned()].into();
    }
    own.into_iter()
        .filter(|(_, is_supported)| *is_supported)
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The namespace of its own annotation, or the name in the template of one.
fn suggested_namespace(metadata: &'static Value) -> Option<String> {
    let given = trimmed(metadata, "operatorframework.io/suggested-namespace").map(str::to_owned);
    given.or_else(|| {
        let template = trimmed(
            metadata,
            "operatorframework.io/suggested-namespace-template",
        )?;
        let template: Value = template.parse().ok()?;
        template["metadata"]["name"]
            .as_str()
            .map(|name| name.trim().to_owned())
    })
}

/// Whether a bundle runs on a `PlatformInput`: the numbers that both versions have are compared.
pub(super) fn runs_on(bundle: &Bundle, platform: &Value) -> bool {
    let metadata = bundle
        .values("olm.csv.metadata")
        .next()
        .expect("bundles of the corpus have metadata");
    let numbers = |text: &str| -> Vec<u32> {
        let numbers = text
            .trim_start_matches('v')
            .split(['-', '+'])
            .next()
            .unwrap_or_default();
        numbers
            .split('.')
            .map(|number| number.parse().expect("a number"))
            .collect()
    };
    let compare = |given: &str, stated: &str| {
        let given = numbers(given);
        let stated = numbers(stated);
        let both = given.len().min(stated.len());
        given[..both].cmp(&stated[..both])
    };
    let max_kubernetes = trimmed(metadata, "operatorhub.io/ui-metadata-max-k8s-version");
    let max_openshift = bundle
        .values("olm.maxOpenShiftVersion")
        .next()
        .and_then(Value::as_str);
    let is_kubernetes = platform["kubernetes"].as_str().is_none_or(|given| {
        text(metadata, "minKubeVersion").is_none_or(|min| compare(given, min).is_ge())
            && max_kubernetes.is_none_or(|max| compare(given, max).is_le())
    });
    let given = platform["openshift"].as_str();
    let is_openshift = given
        .zip(max_openshift)
        .is_none_or(|(given, max)| compare(given, max).is_le());
    let architectures = supported(metadata, "arch", "amd64");
    is_kubernetes
        && is_openshift
        && platform["architecture"]
            .as_str()
            .is_none_or(|name| architectures.contains(name))
}

/// In the author's order.
pub(super) fn subscriptions(metadata: &'static Value) -> Vec<String> {
    let Some(written) = trimmed(metadata, "operators.openshift.io/valid-subscription") else {
        return Vec::new();
    };
    serde_json::from_str(written).unwrap_or_else(|_| vec![written.to_owned()])
}

pub(super) fn certified(metadata: &'static Value) -> Option<bool> {
    trimmed(metadata, "certified")?.to_lowercase().parse().ok()
}

pub(super) fn created_at(metadata: &'static Value) -> Option<Timestamp> {
    trimmed(metadata, "createdAt").and_then(moment)
}

pub(super) fn keywords(metadata: &'static Value) -> impl Iterator<Item = &'static str> {
    metadata["keywords"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// In the author's order, each once.
pub(super) fn categories(metadata: &'static Value) -> Vec<&'static str> {
    let mut categories = Vec::new();
    for category in trimmed(metadata, "categories")
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
    {
        if !category.is_empty() && !categories.contains(&category) {
            categories.push(category);
        }
    }
    categories
}

pub(super) fn capability_level(metadata: &'static Value) -> Option<&'static str> {
    let written = trimmed(metadata, "capabilities")?.to_lowercase();
    LEVELS
        .iter()
        .find(|(level, _)| *level == written)
        .map(|(_, level)| *level)
}

/// Those that are supported.
pub(super) fn install_modes(metadata: &'static Value) -> BTreeSet<&'static str> {
    let modes = metadata["installModes"].as_array().into_iter().flatten();
    let supported = modes.filter(|mode| mode["supported"] == true);
    supported
        .filter_map(|mode| MODES.iter().find(|(known, _)| mode["type"] == *known))
        .map(|(_, mode)| *mode)
        .collect()
}

/// The values of a facet as the schema shows them: those of an enum in its order, others the most
/// frequent first; what is equally frequent comes by its text.
pub(super) fn facet(counts: BTreeMap<&str, usize>, first: usize) -> Value {
    let place = |value: &str| {
        [&LEVELS[..], &MODES]
            .iter()
            .find_map(|known| known.iter().position(|(_, known)| *known == value))
    };
    let mut counts: Vec<_> = counts.into_iter().collect();
    // Levels and modes come in the order of their enum, whatever their count.
    counts.sort_by_key(|(value, count)| (place(value), Reverse(*count)));
    counts
        .into_iter()
        .take(first)
        .map(|(value, count)| json!({ "value": value, "count": count }))
        .collect()
}

pub(super) fn features(metadata: &'static Value) -> Vec<String> {
    let annotations = metadata["annotations"].as_object();
    let mut features = BTreeMap::new();
    for (key, value) in annotations.into_iter().flatten() {
        let Some(feature) = key.strip_prefix(FEATURE) else {
            continue;
        };
        let value = value
            .as_str()
            .unwrap_or_default()
            .trim_matches(['“', '”', '"', ' '])
            .to_lowercase();
        if let Ok(has) = value.parse::<bool>() {
            *features.entry(folded(feature)).or_insert(has) |= has;
        }
    }
    let older = trimmed(metadata, FEATURES).unwrap_or_default();
    let listed = match older.parse::<Value>() {
        Ok(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(folded).collect(),
        _ => older
            .trim_matches(['[', ']'])
            .split(',')
            .map(folded)
            .collect::<Vec<_>>(),
    };
    for feature in listed {
        // What the newer form says of a feature counts.
        features.entry(feature).or_insert(true);
    }
    features.retain(|feature, has| *has && !feature.is_empty());
    features.into_keys().collect()
}

fn folded(feature: &str) -> String {
    match feature.trim().to_lowercase().as_str() {
        "proxy" => "proxy-aware".to_owned(),
        "fips" | "fipsmode" => "fips-compliant".to_owned(),
        other => other.to_owned(),
    }
}

/// An annotation without white space around it; nothing when there is none or it is empty.
fn trimmed(metadata: &'static Value, annotation: &str) -> Option<&'static str> {
    text(&metadata["annotations"], annotation)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// A moment in one of the known forms that the corpus has at the heads of its default channels.
fn moment(written: &str) -> Option<Timestamp> {
    let shape: String = written
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '9' } else { letter })
        .collect();
    let utc = |at: DateTime| Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
    if shape == "9999-99-99" || shape == "9999/99/99" {
        return utc(Date::strptime("%Y-%m-%d", written.replace('/', "-"))
            .ok()?
            .to_datetime(jiff::civil::Time::midnight()));
    }
    if shape == "9999-99-99 99:99Z" {
        return utc(DateTime::strptime("%Y-%m-%d %H:%MZ", written).ok()?);
    }
    if !shape.starts_with("9999-99-99T99:99:99") && !shape.starts_with("9999-99-99 99:99:99") {
        return ["UTC", "GMT"].iter().find_map(|zone| {
            utc(DateTime::strptime(format!("%a %b %e %H:%M:%S {zone} %Y"), written).ok()?)
        });
    }
    let zone = ["Z", "+99:99", "-99:99", "+9999", "-9999"]
        .into_iter()
        .find(|zone| shape.ends_with(zone));
    let (local, zone) = written.split_at(written.len() - zone.map_or(0, str::len));
    let local = DateTime::strptime("%Y-%m-%dT%H:%M:%S%.f", local.replacen(' ', "T", 1)).ok()?;
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let minutes = digits.parse::<i64>().map_or(0, |hours_and_minutes| {
        hours_and_minutes / 100 * 60 + hours_and_minutes % 100
    });
    let east = if zone.starts_with('-') {
        -minutes
    } else {
        minutes
    };
    utc(local)?
        .checked_sub(jiff::SignedDuration::from_mins(east))
        .ok()
}
