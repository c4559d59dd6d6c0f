//! Where a `registries.conf` says that images are.

use std::path::PathBuf;

use images::{RegistriesConf, RegistrySettings};

use super::{Fixture, pull, settings};
use crate::support::{Proxy, ProxyAction, respond};

fn with(text: &str) -> RegistrySettings {
    let conf =
        RegistriesConf::parse([(PathBuf::from("/registries.conf"), text.to_owned())]).unwrap();
    RegistrySettings {
        conf,
        ..settings(&[])
    }
}

#[tokio::test]
async fn an_image_is_taken_from_the_first_mirror_that_has_it() {
    let Fixture { registry, image } = Fixture::new();
    let down = Fixture::new().registry.address;
    let without = Proxy::start(registry.address, |_| respond(404, &[], ""));
    // It breaks off once: what was found at a mirror is fetched as patiently as from anywhere.
    let good = Proxy::start(registry.address, |asked| match asked.earlier {
        0 if asked.forward().body.len() > 50_000 => ProxyAction::Truncate(100),
        _ => ProxyAction::Forward,
    });
    let conf = |mirrors: &[String]| {
        let mirrors = mirrors.iter().map(|mirror| {
            format!("[[registry.mirror]]\nlocation = \"{mirror}\"\ninsecure = true\n")
        });
        let registry = format!(
            "[[registry]]\nprefix = \"example.com/team\"\nlocation = \"{}/ns\"\ninsecure = true\n",
            registry.address
        );
        with(&(registry + &mirrors.collect::<String>()))
    };
    let mirrors = [
        format!("{down}/ns"),
        format!("{}/ns", without.address),
        format!("{}/ns", good.address),
    ];
    let pulled = pull(conf(&mirrors), "example.com/team/catalog:v1")
        .await
        .unwrap();
    assert_eq!(pulled.layers, image.layers());
    assert_eq!(
        pulled.resolved.pinned_reference,
        format!("example.com/team/catalog@{}", image.digest())
    );
    assert_eq!((without.requests().len(), good.requests().len()), (1, 5));

    // The place itself comes last, with another location and without TLS.
    let pulled = pull(conf(&mirrors[..2]), "example.com/team/catalog:v1")
        .await
        .unwrap();
    assert_eq!(pulled.layers, image.layers());
    assert_eq!((without.requests().len(), good.requests().len()), (2, 5));
}

#[tokio::test]
async fn what_is_blocked_is_not_asked_for() {
    let Fixture { registry, image: _ } = Fixture::new();
    let proxy = Proxy::start(registry.address, |_| ProxyAction::Forward);
    let host = proxy.address;
    let conf = format!(
        "[[registry]]\nlocation = \"{host}\"\ninsecure = true\n[[registry]]\nlocation = \"{host}/ns\"\nblocked = true\n"
    );
    let error = pull(with(&conf), &format!("{host}/ns/catalog:v1"))
        .await
        .unwrap_err();
    assert_eq!(
        error,
        format!(
            "cannot pull `{host}/ns/catalog:v1`: registries.conf blocks the prefix `{host}/ns`"
        )
    );
    assert_eq!(proxy.requests(), []);
}
