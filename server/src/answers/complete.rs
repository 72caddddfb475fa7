//! Values for what is being typed.

use super::cursor::Cursors;
use super::error::AnswerError;
use super::target::{self, Choice, Target};
use super::{Completed, Completion};
use crate::audit::{Asker, Reading};

/// The most values given.
const MAX_VALUES: u32 = 100;

/// Values that begin with what is typed.
pub(super) async fn answer(
    reading: &mut Reading,
    asker: &Asker,
    cursors: &Cursors,
    completion: &Completion,
) -> Result<Vec<String>, AnswerError> {
    let prefix = completion.prefix.as_str();
    if prefix.chars().any(char::is_control) {
        return Ok(Vec::new());
    }
    let mut values = match completion.of {
        Completed::Vendor => {
            let known = cursors.vendors.known(reading).await?;
            known.into_iter().filter(|vendor| vendor.starts_with(prefix)).collect()
        }
        Completed::Repository => repositories(reading, asker, prefix).await?,
        Completed::Path => paths(reading, asker, prefix).await?,
    };
    values.truncate(MAX_VALUES as usize);
    reading.rows(values.len());
    Ok(values)
}

async fn repositories(reading: &mut Reading, asker: &Asker, prefix: &str) -> Result<Vec<String>, AnswerError> {
    if let Some(pinned) = asker.pinned_repository.as_deref() {
        let visible = reading.tx.repository_by_name(pinned).await?.map(|repository| repository.name);
        return Ok(visible.into_iter().filter(|name| name.starts_with(prefix)).collect());
    }
    // Names are listed after a name, so that one equal to the prefix is looked up by itself; names that begin with
    // the prefix stand right behind it.
    let mut names = Vec::new();
    if !prefix.is_empty() {
        names.extend(reading.tx.repository_by_name(prefix).await?.map(|repository| repository.name));
    }
    let after = (!prefix.is_empty()).then_some(prefix);
    let listed = reading.tx.visible_repositories(after, MAX_VALUES).await?;
    names.extend(listed.into_iter().map(|repository| repository.name).take_while(|name| name.starts_with(prefix)));
    Ok(names)
}

/// Files with vendor calls; none where it is not clear which repository is meant.
async fn paths(reading: &mut Reading, asker: &Asker, prefix: &str) -> Result<Vec<String>, AnswerError> {
    let Choice::One(repository) = target::choose(reading, asker, None, None).await? else { return Ok(Vec::new()) };
    let Target::Index(_, index) = target::index_of(reading, repository, None).await? else { return Ok(Vec::new()) };
    Ok(reading.tx.calling_paths(&index, prefix, MAX_VALUES).await?)
}
