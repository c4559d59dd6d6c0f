//! The store of a server, and the loader that fills it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use build_info::CONTENT_BUILD;
use loading::{Loader, LoaderTask, open_shared_store};
use serving::{Catalogs, catalogs};
use store::{Store, UnprotectedFiles};
use tempfile::TempDir;

use crate::args::ServerArgs;

/// The folder of the store.
pub struct StoreFolder {
    path: PathBuf,
    /// Removes the folder when it is dropped.
    _temporary: Option<TempDir>,
}

/// A loader that does not run yet, and what it publishes to.
pub struct CatalogLoader {
    /// Sets the wanted catalogs.
    pub loader: Loader,
    /// Loads them while it runs.
    pub task: LoaderTask,
    /// The published set.
    pub catalogs: Catalogs,
}

impl StoreFolder {
    /// Returns the folder that `--store` names, or else one in the user's cache folder. Where that
    /// cannot be created, as for a user without a home, it is a temporary folder.
    pub fn open(args: &ServerArgs) -> anyhow::Result<Self> {
        if let Some(folder) = &args.store {
            return Ok(Self::permanent(folder.clone()));
        }
        let reason = match default_folder().map(|folder| (fs::create_dir_all(&folder), folder)) {
            Some((Ok(()), folder)) => return Ok(Self::permanent(folder)),
            Some((Err(error), folder)) => {
                format!("cannot create the folder `{}`: {error}", folder.display())
            }
            None => "neither XDG_CACHE_HOME nor HOME names a folder".to_owned(),
        };
        let folder = tempfile::Builder::new().prefix("catalogql-").tempdir();
        let folder = folder
            .with_context(|| format!("{reason}: name a folder for the store with --store"))?;
        tracing::warn!(
            reason,
            "contents are stored in a temporary folder; --store names one that is kept"
        );
        Ok(Self {
            path: folder.path().to_owned(),
            _temporary: Some(folder),
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn permanent(path: PathBuf) -> Self {
        Self {
            path,
            _temporary: None,
        }
    }
}

impl CatalogLoader {
    /// Opens the store in a folder, and creates the loader of a server.
    pub fn open(args: &ServerArgs, folder: &StoreFolder) -> anyhow::Result<Self> {
        let store = Store::open(folder.path(), args.store_quota.0, CONTENT_BUILD)?;
        let UnprotectedFiles { repaired, removed } = store.unprotected_files();
        if repaired > 0 || removed > 0 {
            let message = "others could write to files of the store, which were protected, or removed where others own them";
            tracing::warn!(folder = %folder.path().display(), protected = repaired, removed, "{message}");
        }
        let shared = args.shared_store.as_deref();
        let shared = shared
            .map(|url| open_shared_store(url, CONTENT_BUILD))
            .transpose()?;
        if let Some(shared) = &shared {
            let message = "contents of images are shared with other replicas";
            tracing::info!(url = shared.url(), "{message}");
        }
        let (writer, catalogs) = catalogs();
        let (loader, task) = Loader::with_shared_store(store, shared, writer);
        let check_interval = Some(args.store_check_interval).filter(|interval| !interval.is_zero());
        let task = task
            .compress_after(args.compress_after)
            .ready_after(args.ready_after)
            .check_interval(check_interval);
        Ok(Self {
            loader,
            task,
            catalogs,
        })
    }
}

/// Returns the folder of the store in the user's cache folder.
fn default_folder() -> Option<PathBuf> {
    let folder = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
    };
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(cache?.join("catalogql").join("store"))
}
