//! Leases: while one replica pulls a revision, the others wait for its record.
//!
//! A lease saves pulls, and nothing depends on it: two replicas that hold one at the same time, such
//! as after a crash, pull twice. It expires by the time that is written in it.

use bytes::Bytes;
use object_store::path::Path;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::objects::{Creation, Objects};
use crate::record::{LeaseFile, RevisionKey};
use crate::{LEASE_DURATION, MAX_LEASE, MAX_RECORD_BYTES, SharedStoreError};

/// Number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;

/// A lease of this replica. It is renewed until it is dropped, which removes it.
#[derive(Debug)]
pub(crate) struct Lease {
    objects: Objects,
    path: Path,
    holder: String,
    renewal: AbortHandle,
}

impl Lease {
    /// Takes the lease of a revision; `None` if another replica holds it.
    pub(crate) async fn take(
        objects: &Objects,
        key: &RevisionKey,
    ) -> Result<Option<Self>, SharedStoreError> {
        let path = key.lease_path();
        match objects.get(&path, MAX_RECORD_BYTES).await {
            Ok(Some(text)) if LeaseFile::is_valid(&text) => return Ok(None),
            // A lease that expired, or is none.
            Ok(Some(_)) | Err(SharedStoreError::Damaged { .. }) => objects.delete(&path).await?,
            Ok(None) => {}
            Err(error) => return Err(error),
        }
        let holder = format!("{:032x}", fastrand::u128(..));
        let lease = Bytes::from(LeaseFile::new(&holder).to_json());
        if objects.create(&path, lease).await? == Creation::Existed {
            return Ok(None);
        }
        let renewing = renew(objects.clone(), path.clone(), holder.clone());
        let renewal = tokio::spawn(timeout(MAX_LEASE, renewing)).abort_handle();
        Ok(Some(Self {
            objects: objects.clone(),
            path,
            holder,
            renewal,
        }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
        // Without a runtime, the process ends, and the lease expires.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let remove = remove(self.objects.clone(), self.path.clone(), self.holder.clone());
        runtime.spawn(remove);
    }
}

/// Renews a lease until it is aborted.
async fn renew(objects: Objects, path: Path, holder: String) {
    loop {
        sleep(LEASE_DURATION / RENEWALS).await;
        let lease = Bytes::from(LeaseFile::new(&holder).to_json());
        if let Err(error) = objects.replace(&path, lease).await {
            tracing::debug!(%error, "cannot renew the lease of a revision");
        }
    }
}

/// Removes a lease, unless another replica has taken it.
async fn remove(objects: Objects, path: Path, holder: String) {
    let removed = async {
        let text = objects.get(&path, MAX_RECORD_BYTES).await?;
        if text.is_some_and(|text| LeaseFile::is_of(&text, &holder)) {
            objects.delete(&path).await?;
        }
        Ok::<_, SharedStoreError>(())
    };
    if let Err(error) = removed.await {
        tracing::debug!(%error, "cannot remove the lease of a revision");
    }
}
