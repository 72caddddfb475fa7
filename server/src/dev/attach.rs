//! `--dev`: other commands on what a `syncd dev` started, without an address or a key in the environment.

use std::fs;
use std::io;
use std::path::Path;

use super::data_dir::default_root_of;
use super::database::{DATABASE, MAINTENANCE_ROLE, OWNER_ROLE, SERVICE_ROLE};
use super::error::DevError;
use super::settings::{HEADS_FILE, LISTEN_FILE, SEAL_KEY_FILE, SECRET_KEY_FILE, is_for_its_user_alone};
use crate::postgres;

/// The environment with the database, the keys and the file of heads of the `syncd dev` that runs on a folder; the usual
/// folder where none is named. They take the place of what the environment says of them: the folder was asked for.
pub fn attach(
    folder: Option<&Path>,
    mut environment: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, DevError> {
    let root = match folder {
        Some(folder) => folder.to_owned(),
        None => default_root_of(&environment)
            .ok_or_else(|| DevError::refused("this user has no home folder", "name the folder: --dev=DIR"))?,
    };
    let root = root.canonicalize().map_err(|error| unreadable(&root, &error))?;
    let given: Vec<String> = environment.iter().map(|(name, _)| name.clone()).collect();
    let is_set = |name: &str| given.iter().any(|given| given == name);
    let mut set = |name: &str, value: String| {
        let file = format!("{name}_FILE");
        environment.retain(|(known, _)| *known != name && *known != file);
        environment.push((name.to_owned(), value));
    };
    for (name, file) in [("SYNC_SECRET_KEY", SECRET_KEY_FILE), ("SYNC_SEAL_KEY", SEAL_KEY_FILE)] {
        let path = root.join(file);
        let kept = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        set(name, kept.trim_end().to_owned());
    }
    set("SYNC_AUDIT_HEADS_FILE", root.join(HEADS_FILE).display().to_string());
    // Of one that never came so far there is none.
    if let Ok(address) = fs::read_to_string(root.join(LISTEN_FILE)) {
        let address = address.trim_end();
        set("SYNC_LISTEN", address.to_owned());
        // As the one that runs has it.
        if address.parse().is_ok_and(is_for_its_user_alone) && !is_set("SYNC_LOCAL_SOURCES") {
            set("SYNC_LOCAL_SOURCES", "true".to_owned());
        }
    }
    let private = root.join("postgres");
    // Where it is not there, that `syncd dev` uses a database that is configured, here as there.
    if private.exists() {
        let url = |role| postgres::url_of(&private, role, DATABASE).ok_or_else(|| not_running(&root));
        set("SYNC_DATABASE_URL", url(SERVICE_ROLE)?);
        set("SYNC_OWNER_DATABASE_URL", url(OWNER_ROLE)?);
        set("SYNC_MAINTENANCE_DATABASE_URL", url(MAINTENANCE_ROLE)?);
    }
    Ok(environment)
}

fn unreadable(path: &Path, error: &io::Error) -> DevError {
    if error.kind() == io::ErrorKind::NotFound {
        return DevError::refused(
            format!("no `syncd dev` keeps anything here: there is no {}", path.display()),
            "start deploy/dev/run, or name the folder that it names first: --dev=DIR",
        );
    }
    DevError::failed(format!("{} cannot be read: {error}", path.display()), "run this as the user who runs `syncd dev`")
}

fn not_running(root: &Path) -> DevError {
    DevError::failed(
        format!("no `syncd dev` runs on {}, and so neither does its database", root.display()),
        "start deploy/dev/run and leave it running, or name another folder: --dev=DIR",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_the_folder_keeps_takes_the_place_of_what_the_environment_says() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let attached = |pairs: &[(&str, &str)]| attach(Some(&root), environment(pairs));
        let said = attached(&[]).unwrap_err().to_string();
        assert!(said.contains("no `syncd dev` keeps anything here") && said.contains("--dev=DIR"), "{said}");
        fs::write(root.join("secret_key"), "secret\n").unwrap();
        fs::write(root.join("seal_key"), "seal\n").unwrap();

        // Its database is a configured one.
        let given = [("SYNC_DATABASE_URL", "postgres://elsewhere"), ("SYNC_SEAL_KEY_FILE", "/elsewhere"), ("A", "b")];
        let heads = root.join("audit-heads.ndjson").display().to_string();
        let kept = [("SYNC_SECRET_KEY", "secret"), ("SYNC_SEAL_KEY", "seal"), ("SYNC_AUDIT_HEADS_FILE", &heads)];
        let rest = [("SYNC_DATABASE_URL", "postgres://elsewhere"), ("A", "b")];
        assert_eq!(attached(&given).unwrap(), environment(&[&rest[..], &kept[..]].concat()));

        // Its own, which does not run, and then does.
        fs::create_dir(root.join("postgres")).unwrap();
        let said = attached(&given).unwrap_err().to_string();
        assert!(said.contains("no `syncd dev` runs on"), "{said}");
        fs::create_dir(root.join("postgres/socket")).unwrap();
        let found = attached(&given).unwrap();
        let urls: Vec<_> = found.iter().filter(|(name, _)| name.ends_with("DATABASE_URL")).collect();
        assert_eq!(urls.len(), 3);
        assert!(urls.iter().all(|(_, url)| url.ends_with("%2Fpostgres%2Fsocket")), "{urls:?}");
        assert!(urls[0].1.starts_with("postgres://sync_app@localhost/sync?host="), "{urls:?}");
    }
}
