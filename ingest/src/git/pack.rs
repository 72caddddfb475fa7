//! Bringing commits into a repository, each without its history and without what is there already.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::odb::pack;
use gix::progress::Discard;
use gix::protocol::fetch::negotiate::{Action, Round, one_round};
use gix::protocol::fetch::{Arguments, Context, Negotiate, Options, Response, Shallow, Tags};

use super::answer::FetchLimits;
use super::remote::{Remote, agent};

/// Fetches `wants`, which the remote listed, beside `haves`, whose trees are here.
pub(super) fn receive(
    remote: &mut Remote,
    repository: &gix::Repository,
    wants: &[ObjectId],
    haves: &[ObjectId],
    limits: &FetchLimits,
    interrupt: &AtomicBool,
) -> Result<(), gix::Error> {
    // Also when there is a shallow boundary already: only what a commit itself names is needed of it.
    let shallow = Shallow::DepthAtRemote(NonZeroU32::MIN);
    let packs = repository.objects.store_ref().path().join("pack");
    let options = pack::bundle::write::Options {
        alloc_limit_bytes: Some(usize::try_from(limits.object_bytes).unwrap_or(usize::MAX)),
        ..pack::bundle::write::Options::default()
    };
    let mut kept = None;
    gix::protocol::fetch(
        &mut Plan { wants, haves },
        |reader, progress, interrupt| {
            let bases = Some(Box::new(repository.objects.clone()));
            let hash = repository.object_hash();
            let written =
                pack::Bundle::write_to_directory(reader, Some(&packs), progress, interrupt, bases, hash, options)?;
            kept = written.keep_path;
            Ok(true)
        },
        Discard,
        interrupt,
        Context {
            handshake: &mut remote.handshake,
            transport: &mut remote.transport,
            user_agent: agent(),
            trace_packetlines: false,
        },
        Options {
            shallow_file: repository.shallow_file()?,
            shallow: &shallow,
            tags: Tags::None,
            reject_shallow_remote: false,
        },
    )?;
    // It keeps a pack from the housekeeping of git, which is never done here.
    if let Some(kept) = kept {
        let _ = std::fs::remove_file(kept);
    }
    Ok(())
}

/// All is known before the first question, so that one round is enough: the tips that are here, and those that are wanted.
struct Plan<'a> {
    wants: &'a [ObjectId],
    haves: &'a [ObjectId],
}

impl Negotiate for Plan<'_> {
    fn mark_complete_and_common_ref(&mut self) -> Result<Action, gix::Error> {
        Ok(Action::MustNegotiate { remote_ref_target_known: Vec::new() })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _: &[bool]) -> bool {
        for want in self.wants {
            arguments.want(want);
        }
        !self.wants.is_empty()
    }

    fn one_round(
        &mut self,
        state: &mut one_round::State,
        arguments: &mut Arguments,
        _: Option<&Response>,
    ) -> Result<(Round, bool), gix::Error> {
        for have in self.haves {
            arguments.have(have);
        }
        let round = Round {
            haves_sent: self.haves.len(),
            in_vain: 0,
            haves_to_send: state.haves_to_send,
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}
