//! Files of the policy for signed images: `policy.json` and registries.d, which flags name, or else
//! those of the user and the system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use images::{SignaturePolicy, SignatureVerification};
use signature_policy::{JudgeOptions, LoadedPolicy, LookupConfig, Policy};

use super::registries::{Env, config_folder, list_files, path_variable, read, read_if_exists};
use crate::args::SignatureArgs;

/// Files of the system, the one of the administrator first.
const SYSTEM_POLICIES: [&str; 2] = [
    "/etc/containers/policy.json",
    "/usr/share/containers/policy.json",
];

/// Folders of the system, the one of the administrator first.
const SYSTEM_LOOKUPS: [&str; 2] = [
    "/etc/containers/registries.d",
    "/usr/share/containers/registries.d",
];

/// Consequence of a policy that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadablePolicy {
    /// No image is accepted, as at a start.
    RefusesImages,
    /// Reading the settings fails, so that a reload keeps the former ones.
    IsAnError,
}

/// Reads the policy with its keys.
pub(super) fn read_verification(
    args: &SignatureArgs,
    unreadable: UnreadablePolicy,
    env: Env<'_>,
) -> anyhow::Result<SignatureVerification> {
    let options = JudgeOptions {
        require_signatures: args.require_signatures,
        instances_only: args.verify_instances_only,
        accept_bundles_without_identity: args.accept_bundles_without_identity,
    };
    match read_files(args, options, env) {
        Ok(verification) => Ok(verification),
        Err(error) if unreadable == UnreadablePolicy::IsAnError => Err(error),
        Err(error) => Ok(SignatureVerification {
            policy: SignaturePolicy::Unreadable(format!("{error:#}")),
            lookup: LookupConfig::default(),
            options,
        }),
    }
}

fn read_files(
    args: &SignatureArgs,
    options: JudgeOptions,
    env: Env<'_>,
) -> anyhow::Result<SignatureVerification> {
    let file = if args.no_signature_policy {
        None
    } else {
        read_policy(args.signature_policy.as_deref(), env)?
    };
    let policy = match file {
        None if args.require_signatures => {
            SignaturePolicy::Loaded(Arc::new(LoadedPolicy::accept_anything(options)))
        }
        None => SignaturePolicy::None,
        Some((path, text)) => {
            let loaded = Policy::parse(&text).and_then(|policy| policy.load(options, read_key));
            let loaded = loaded
                .with_context(|| format!("cannot use the signature policy `{}`", path.display()))?;
            SignaturePolicy::Loaded(Arc::new(loaded))
        }
    };
    let lookup = match policy {
        SignaturePolicy::None => LookupConfig::default(),
        _ => read_lookup(args.registries_d.as_deref(), env)?
            .with_default_lookaside(default_lookaside(env)),
    };
    Ok(SignatureVerification {
        policy,
        lookup,
        options,
    })
}

fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// Reads the first policy that exists. One that is named must exist.
fn read_policy(given: Option<&Path>, env: Env<'_>) -> anyhow::Result<Option<(PathBuf, String)>> {
    let named = given.map(Path::to_owned);
    if let Some(path) = named.or_else(|| path_variable(env, "CONTAINERS_POLICY_JSON")) {
        return Ok(Some(read(&path)?));
    }
    let users = config_folder(env).map(|folder| folder.join("containers/policy.json"));
    for path in users.into_iter().chain(SYSTEM_POLICIES.map(PathBuf::from)) {
        if let Some(found) = read_if_exists(&path)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns where podman keeps signatures if no file of registries.d says it: in a folder of the
/// system, or of a user who is not its administrator.
fn default_lookaside(env: Env<'_>) -> String {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let home = path_variable(env, "HOME").filter(|_| !is_root);
    let folder = match home {
        Some(home) => home.join(".local/share/containers/sigstore"),
        None => PathBuf::from("/var/lib/containers/sigstore"),
    };
    format!("file://{}", folder.display())
}

/// Reads the files of the first folder that has some.
fn read_lookup(given: Option<&Path>, env: Env<'_>) -> anyhow::Result<LookupConfig> {
    let users = config_folder(env).map(|folder| folder.join("containers/registries.d"));
    let folders: Vec<_> = match given {
        Some(folder) => vec![folder.to_owned()],
        None => users
            .into_iter()
            .chain(SYSTEM_LOOKUPS.map(PathBuf::from))
            .collect(),
    };
    for folder in folders {
        let paths = list_files(&folder, &["yaml"])?;
        if paths.is_empty() {
            continue;
        }
        let mut texts = Vec::new();
        for path in paths {
            let (path, text) = read(&path)?;
            texts.push((path.display().to_string(), text));
        }
        let files = texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        return Ok(LookupConfig::parse(files)?);
    }
    Ok(LookupConfig::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(policy: &Path) -> SignatureArgs {
        SignatureArgs {
            signature_policy: Some(policy.to_owned()),
            ..SignatureArgs::default()
        }
    }

    fn read_with(
        args: &SignatureArgs,
        unreadable: UnreadablePolicy,
    ) -> anyhow::Result<SignatureVerification> {
        read_verification(args, unreadable, &|_| None)
    }

    #[test]
    fn an_unreadable_policy_refuses_images_at_a_start_and_fails_a_reload() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        for text in [
            r#"{"default":[{"type":"rejekt"}]}"#,
            r#"{"default":[{"type":"sigstoreSigned","keyPath":"/nonexistent"}]}"#,
            r#"{"default":[{"type":"signedBaseLayer","baseLayerIdentity":{"type":"matchExact"}}]}"#,
        ] {
            fs::write(&path, text).unwrap();
            let started = read_with(&args(&path), UnreadablePolicy::RefusesImages).unwrap();
            let SignaturePolicy::Unreadable(reason) = started.policy else {
                panic!("{text} is readable");
            };
            let error = read_with(&args(&path), UnreadablePolicy::IsAnError).unwrap_err();
            assert_eq!(format!("{error:#}"), reason);
            assert!(reason.contains("default.0: "), "{reason}");
        }
    }

    #[test]
    fn a_policy_that_is_named_must_exist_and_none_is_read_with_the_flag() {
        let mut args = args(Path::new("/nonexistent/policy.json"));
        assert!(read_with(&args, UnreadablePolicy::IsAnError).is_err());
        args.no_signature_policy = true;
        let read = read_with(&args, UnreadablePolicy::IsAnError).unwrap();
        assert!(matches!(read.policy, SignaturePolicy::None));
        args.require_signatures = true;
        let read = read_with(&args, UnreadablePolicy::IsAnError).unwrap();
        assert!(matches!(read.policy, SignaturePolicy::Loaded(_)));
    }
}
