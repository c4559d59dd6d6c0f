//! A catalog made up from a seed, with the statistics of the community operators' catalog.
//!
//! The quantiles in [`SHAPE`] were counted over the 333 packages and 6,475 bundles of that catalog.
//! The same seed gives the same bytes everywhere, so anybody can repeat a measurement without the
//! real one.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Seed of the generated catalog; another one would make measurements incomparable.
const SEED: u64 = 20_260_101;

/// Number of packages, which is that of the community operators' catalog.
const PACKAGES: usize = 333;

/// Quantiles 0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99 and 1 of what real packages and bundles hold.
struct Shape {
    bundles_a_package: [usize; 8],
    channels_a_package: [usize; 8],
    apis_a_bundle: [usize; 8],
    related_images_a_bundle: [usize; 8],
    /// Bytes of display metadata: half descriptions of resources, a third annotations, the rest
    /// prose.
    metadata_bytes: [usize; 8],
    icon_bytes: [usize; 8],
    description_bytes: [usize; 8],
}

const SHAPE: Shape = Shape {
    bundles_a_package: [1, 1, 3, 10, 26, 51, 119, 222],
    channels_a_package: [1, 1, 1, 1, 2, 3, 14, 38],
    apis_a_bundle: [0, 1, 1, 3, 6, 15, 26, 53],
    related_images_a_bundle: [0, 1, 1, 1, 2, 3, 55, 94],
    metadata_bytes: [
        1_298, 2_863, 3_341, 4_946, 10_168, 20_797, 71_357, 1_060_087,
    ],
    icon_bytes: [2, 1_652, 4_628, 5_884, 18_044, 46_108, 242_728, 394_212],
    description_bytes: [14, 228, 670, 1_140, 2_093, 3_556, 13_048, 33_660],
};

const WORDS: [&str; 24] = [
    "cluster",
    "operator",
    "manages",
    "the",
    "lifecycle",
    "of",
    "a",
    "database",
    "with",
    "backup",
    "restore",
    "and",
    "automatic",
    "failover",
    "\\\"quoted\\\"",
    "for",
    "every",
    "namespace",
    "it",
    "watches",
    "naïve",
    "metrics",
    "\\n",
    "storage",
];

/// Writes the catalog into a folder, with one folder for each package.
pub fn generate(folder: &Path) -> io::Result<()> {
    let mut random = Random(SEED);
    for at in 0..PACKAGES {
        let name = format!("package-{at:03}");
        let text = package(&mut random, &name);
        fs::create_dir_all(folder.join(&name))?;
        fs::write(folder.join(&name).join("catalog.json"), text)?;
    }
    Ok(())
}

/// A small generator of numbers (xorshift64*): seeded, and the same everywhere.
struct Random(u64);

impl Random {
    fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() >> 33).expect("31 bits fit") % end.max(1)
    }

    /// A number whose quantiles are these, linear between them.
    fn quantile(&mut self, quantiles: [usize; 8]) -> usize {
        const AT: [usize; 8] = [0, 1_000, 2_500, 5_000, 7_500, 9_000, 9_900, 10_000];
        let place = self.below(10_000);
        let step = AT
            .iter()
            .rposition(|&at| at <= place)
            .expect("the first is 0")
            .min(6);
        let low = quantiles[step];
        let high = quantiles[step + 1];
        low + (high - low) * (place - AT[step]) / (AT[step + 1] - AT[step])
    }

    /// Words of about this many bytes in all, as the body of a JSON string.
    fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(WORDS[self.below(WORDS.len())]);
            text.push(' ');
        }
        text
    }
}

fn package(random: &mut Random, name: &str) -> String {
    let mut out = String::new();
    let icon: String = std::iter::repeat_n("PHN2", random.quantile(SHAPE.icon_bytes) / 4).collect();
    let description_bytes = random.quantile(SHAPE.description_bytes);
    let description = random.prose(description_bytes);
    writeln!(
        out,
        r#"{{"schema":"olm.package","name":"{name}","defaultChannel":"stable","icon":{{"base64data":"{icon}","mediatype":"image/svg+xml"}},"description":"{description}"}}"#
    )
    .expect("a string takes all");
    let versions: Vec<String> = (0..random.quantile(SHAPE.bundles_a_package))
        .map(|at| format!("{}.{}.{}", at / 40, at / 4 % 10, at % 4))
        .collect();
    for channel in 0..random.quantile(SHAPE.channels_a_package).max(1) {
        write_channel(&mut out, name, channel, &versions);
    }
    for version in &versions {
        write_bundle(&mut out, random, name, version);
    }
    out
}

/// The first channel holds every version, each further one fewer of the newest.
fn write_channel(out: &mut String, package: &str, at: usize, versions: &[String]) {
    let channel = if at == 0 {
        "stable".to_owned()
    } else {
        format!("channel-{at}")
    };
    let first = if at == 0 {
        0
    } else {
        versions.len() - (versions.len() / (at + 1)).max(1)
    };
    let mut entries = Vec::new();
    for (place, version) in versions.iter().enumerate().skip(first) {
        let replaces = match place {
            0 => String::new(),
            place => format!(r#","replaces":"{package}.v{}""#, versions[place - 1]),
        };
        let range = if place % 7 == 6 {
            format!(r#","skipRange":">=0.0.0 <{version}""#)
        } else {
            String::new()
        };
        entries.push(format!(
            r#"{{"name":"{package}.v{version}"{replaces}{range}}}"#
        ));
    }
    let entries = entries.join(",");
    writeln!(out, r#"{{"schema":"olm.channel","package":"{package}","name":"{channel}","entries":[{entries}]}}"#)
        .expect("a string takes all");
}

fn write_bundle(out: &mut String, random: &mut Random, package: &str, version: &str) {
    let mut properties = vec![format!(
        r#"{{"type":"olm.package","value":{{"packageName":"{package}","version":"{version}"}}}}"#
    )];
    for api in 0..random.quantile(SHAPE.apis_a_bundle) {
        properties.push(format!(
            r#"{{"type":"olm.gvk","value":{{"group":"{package}.example.com","kind":"Kind{api}","version":"v1alpha1"}}}}"#
        ));
    }
    properties.push(format!(
        r#"{{"type":"olm.csv.metadata","value":{}}}"#,
        metadata(random, package)
    ));
    let images: Vec<String> = (0..random.quantile(SHAPE.related_images_a_bundle))
        .map(|at| {
            let digest = format!("{:016x}", random.next_u64()).repeat(4);
            format!(
                r#"{{"name":"image-{at}","image":"quay.io/example/{package}@sha256:{digest}"}}"#
            )
        })
        .collect();
    writeln!(
        out,
        r#"{{"schema":"olm.bundle","name":"{package}.v{version}","package":"{package}","image":"quay.io/example/{package}-bundle:v{version}","properties":[{}],"relatedImages":[{}]}}"#,
        properties.join(","),
        images.join(",")
    )
    .expect("a string takes all");
}

/// Display metadata, in the shares that real bundles have.
fn metadata(random: &mut Random, package: &str) -> String {
    let bytes = random.quantile(SHAPE.metadata_bytes);
    let examples = random.prose(bytes / 5);
    let prose = random.prose(bytes / 7);
    let mut crds = Vec::new();
    let mut written = 0;
    while written < bytes / 2 {
        let about = random.prose(120);
        let crd = format!(
            r#"{{"name":"kinds.{package}.example.com","version":"v1alpha1","kind":"Kind","displayName":"Kind","description":"{about}","specDescriptors":[{{"path":"size","displayName":"Size","x-descriptors":["urn:alm:descriptor:com.tectonic.ui:podCount"]}}]}}"#
        );
        written += crd.len();
        crds.push(crd);
    }
    format!(
        r#"{{"annotations":{{"alm-examples":"{examples}","capabilities":"Seamless Upgrades","categories":"Database","containerImage":"quay.io/example/{package}:latest","createdAt":"2024-05-06T07:08:09Z"}},"apiServiceDefinitions":{{}},"crdDescriptions":{{"owned":[{}]}},"description":"{prose}","displayName":"{package}","installModes":[{{"type":"OwnNamespace","supported":true}},{{"type":"AllNamespaces","supported":true}}],"keywords":["database","storage"],"links":[{{"name":"Home","url":"https://{package}.example.com"}}],"maintainers":[{{"name":"Team","email":"team@example.com"}}],"maturity":"stable","provider":{{"name":"Example"}}}}"#,
        crds.join(",")
    )
}
