//! The repository that `syncd dev` indexes when it is given none. Its bytes are in the executable, so that an
//! installed `syncd` shows something true anywhere, without a network.

use std::fs;
use std::io;
use std::path::Path;

/// The fixture's name as a repository.
pub(super) const NAME: &str = "example/billing";

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../fixtures/repositories/billing/", $path)))),+]
    };
}

/// Every file: its path in the repository and its bytes.
const FILES: &[(&str, &[u8])] = files![
    "README.md",
    "package-lock.json",
    "package.json",
    "src/charges.ts",
    "src/customers.ts",
    "src/invoices.ts",
    "src/issues.ts",
    "src/ledger.ts",
    "src/mail.ts",
    "src/money.ts",
    "src/payments.ts",
    "src/promotions.ts",
    "src/quota.ts",
    "src/stripe.ts",
    "src/subscriptions.test.ts",
    "src/subscriptions.ts",
    "src/summary.ts",
    "tsconfig.json",
];

/// Writes the files into `folder`, leaving alone those that are there with the same bytes.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    for (path, bytes) in FILES {
        let target = folder.join(path);
        if fs::read(&target).is_ok_and(|present| present == *bytes) {
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(target, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_holds_the_whole_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repositories/billing");
        let mut on_disk = Vec::new();
        collect(&folder, &folder, &mut on_disk);
        on_disk.sort();
        assert_eq!(on_disk, FILES.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
    }

    fn collect(root: &Path, folder: &Path, into: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, into);
            } else {
                into.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
}
