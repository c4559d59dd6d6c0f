//! What is done and told, because the author may not have meant it.

use edit::bundle::{Placement, RenderedBundle};
use edit::operation::{Add, AddMode, Packages};
use edit::{BlobValue, CatalogBlobs, EditLimits, Operation, apply_within};
use serde_json::json;

/// A bundle of the package `etcd`, of which a file was not read.
fn bundle(version: &str, replaces: &str, image: &str) -> RenderedBundle {
    let name = format!("etcd.v{version}");
    let blob = json!({
        "schema": "olm.bundle",
        "package": "etcd",
        "name": name,
        "image": image,
        "properties": [{ "type": "olm.package", "value": { "packageName": "etcd", "version": version } }],
    });
    let placement = Placement {
        channels: vec!["stable".to_owned()],
        default_channel: "stable".to_owned(),
        replaces: replaces.to_owned(),
        ..Placement::default()
    };
    let warnings = vec![format!("cannot read manifest `{version}.yaml`")];
    RenderedBundle {
        blob: BlobValue::parse(&blob.to_string()).unwrap(),
        placement,
        warnings,
    }
}

fn add(bundle: RenderedBundle) -> Operation<RenderedBundle> {
    Operation::Add(Add {
        bundles: vec![bundle],
        mode: AddMode::Replaces,
        overwrite_latest: true,
        enable_alpha: false,
        prune_stranded: false,
    })
}

/// Does a batch; returns the new content and the notices.
fn edited(
    content: &CatalogBlobs,
    batch: &[Operation<RenderedBundle>],
) -> (CatalogBlobs, Vec<String>) {
    let edited = apply_within(content, batch, EditLimits::NONE).unwrap();
    let notices = edited.summary.notices.iter().map(ToString::to_string);
    (edited.catalog, notices.collect())
}

#[test]
fn what_a_batch_does_is_noticed_where_it_may_not_be_meant() {
    let unread =
        |version: &str| format!("bundle etcd.v{version}: cannot read manifest `{version}.yaml`");
    let first = add(bundle("1.0.0", "", "quay.io/e/e:1"));
    let (content, notices) = edited(
        &CatalogBlobs::default(),
        &[first, add(bundle("1.1.0", "etcd.v1.0.0", "quay.io/e/e:2"))],
    );
    assert_eq!(notices, [unread("1.0.0"), unread("1.1.0")]);

    let names = ["etcd,etdc", "argo"].map(str::to_owned).into();
    let prune = Operation::Prune(Packages {
        packages: names,
        ..Packages::default()
    });
    let (_, notices) = edited(
        &content,
        &[add(bundle("1.1.0", "etcd.v1.0.0", "quay.io/e/e:3")), prune],
    );
    let overwritten = "bundle etcd.v1.1.0: overwritten: clusters that installed the former one keep it, because name and \
                       version are the same";
    let unknown = ["argo", "etdc"]
        .map(|name| format!("package {name}: cannot be kept: it is not in the catalog"));
    assert_eq!(
        notices,
        [&[unread("1.1.0"), overwritten.to_owned()], &unknown[..]].concat()
    );
}
