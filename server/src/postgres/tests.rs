use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn settings() -> Settings {
    Settings { durable: false, ..Settings::default() }
}

#[test]
fn starts_stops_starts_again_and_leaves_no_process_and_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = dir.path().join("pg");
    let first = EmbeddedPostgres::start(&data, &settings()).unwrap();
    let pid_file = data.join("data/postmaster.pid");
    let pid = first_line(&pid_file);
    assert!(first.socket_dir.join(".s.PGSQL.5432").exists());
    assert_eq!(fs::metadata(&first.socket_dir).unwrap().permissions().mode() & 0o777, 0o700);
    let busy = EmbeddedPostgres::start(&data, &settings()).unwrap_err().to_string();
    assert!(busy.contains("in use by another process") && busy.contains("--data-dir"), "{busy}");
    first.stop();
    assert!(!pid_file.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(!data.join("socket").exists());
    EmbeddedPostgres::start(&data, &settings()).unwrap().stop();
}

#[test]
fn a_stale_pid_of_another_program_and_a_torn_first_start_do_not_stand_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = dir.path().join("pg");
    fs::create_dir_all(data.join("data.unfinished/base")).unwrap();
    let account = Account::choose().unwrap();
    account.own(&data).unwrap();
    EmbeddedPostgres::start(&data, &settings()).unwrap().stop();
    assert!(!data.join("data.unfinished").exists());
    // The test itself is alive and is no Postgres.
    fs::write(data.join("data/postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
    EmbeddedPostgres::start(&data, &settings()).unwrap().stop();
}

/// Where the test below puts the data directory for the process that is killed.
const HELD: &str = "SYNC_TEST_HELD_DATA_DIR";

#[test]
#[ignore = "not a test of its own: the process that the next test kills"]
fn holds_a_server_until_it_is_killed() {
    let Some(data) = std::env::var_os(HELD) else { return };
    let _held = EmbeddedPostgres::start(Path::new(&data), &settings()).unwrap();
    println!("up");
    loop {
        std::thread::park();
    }
}

#[test]
fn after_a_kill_the_next_start_recovers() {
    use std::io::BufRead as _;

    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = dir.path().join("pg");
    let mut holder = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres::tests::holds_a_server_until_it_is_killed", "--ignored", "--nocapture"])
        .env(HELD, &data)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("up")));
    let pid = first_line(&data.join("data/postmaster.pid"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let next = EmbeddedPostgres::start(&data, &settings()).unwrap();
    // Postgres itself refuses a cluster that another server still holds.
    assert_ne!(first_line(&data.join("data/postmaster.pid")), pid);
    next.stop();
}

#[test]
fn a_folder_without_binaries_names_the_variable() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let given = Settings { binaries: Some(dir.path().to_path_buf()), ..settings() };
    let error = EmbeddedPostgres::start(&dir.path().join("pg"), &given).unwrap_err().to_string();
    assert!(error.contains("SYNC_PG_BIN"), "{error}");
}

#[test]
fn a_long_data_directory_gets_a_short_socket_folder() {
    let long = Path::new("/var/lib").join("x".repeat(200));
    let dir = socket_dir(&long);
    assert!(dir.as_os_str().len() <= MAX_SOCKET_DIR);
    assert_eq!(dir, socket_dir(&long));
    assert_ne!(dir, socket_dir(&long.join("other")));
    assert_eq!(socket_dir(Path::new("/var/lib/sync")), Path::new("/var/lib/sync/socket"));
}

fn first_line(path: &Path) -> String {
    fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned()
}
