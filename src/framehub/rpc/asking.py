"""The proxy's side towards clients: queries, questions, acknowledgements (spec/rpc.md, section 3). Pure."""

from collections import Counter
from math import inf
from typing import Final, TypeAlias

from framehub.ids import NO_ID
from framehub.rpc import texts, words
from framehub.rpc.groups import Group, Groups, is_grouped, is_head
from framehub.rpc.jobs import DONE, Client, Conduct, Job, wids
from framehub.rpc.keeping import Keeping, Sending
from framehub.rpc.messages import MAX_ID, MAX_NAME, Parts, Way, fault, readable_id
from framehub.rpc.placing import Placing
from framehub.rpc.registry import Registry, Worker
from framehub.rpc.settings import ProxySettings

About: TypeAlias = Job | str | None
"""What a message was about: a query; why it was refused; or neither."""

_FORGET_AFTER: Final = 60.0
MAX_ASKERS: Final = 16
"""Clients that wait for one query of a group; of more the first is forgotten, and has to ask again."""
SILENCED: Final = "not heard: too many malformed messages before"


class Asking:
    """What clients say, and what they are told."""

    def __init__(
        self,
        settings: ProxySettings,
        registry: Registry,
        keeping: Keeping,
        placing: Placing,
        to_clients: Sending,
        counts: Counter[str],
        *,
        key: bytes,
    ) -> None:
        self.draining = False
        """Take no new queries."""
        self.clients: dict[bytes, Client] = {}
        self.groups = Groups(
            settings.max_groups, settings.group_running, wids=lambda identity: wids(key, identity)
        )
        self.to_clients = to_clients
        self.settings = settings
        self.registry = registry
        self.keeping = keeping
        self.placing = placing
        self.counts = counts
        self._key = key
        self._scan_at = -inf
        self._coders_wanted: list[tuple[Client, bytes, bytes]] = []
        self._others = {
            words.CODER_IDENTITY_QUERY: self._coders_asked,
            words.FUNCTIONS_QUERY: self._functions_asked,
            words.CANCEL: self._cancelled,
        }

    def says(self, identity: bytes, parts: Parts, now: float, *, parent: bytes = NO_ID) -> About:
        """Handle a message of a client; ``parent`` is the exchange that caused it, where that is known."""
        client = self.clients.get(identity)
        if client is None:
            client = self._meet(identity, now)
        client.heard = now
        if client.conduct is not None and client.conduct.until > now:
            self.counts["from the silenced"] += 1
            return SILENCED
        count = len(parts)
        type_ = parts[0] if count else b""
        if type_ == words.QUERY:
            if count == 4 and 1 <= len(parts[1]) <= MAX_ID and 1 <= len(parts[3]) <= MAX_NAME:
                return self._asked(client, parts, now, parent)
        elif type_ == words.RESPONSE_RECEIVED:
            job = self._known(client, parts[1]) if count == 2 else None
            if job is not None and job.state == DONE:
                if job.group is None:
                    self.keeping.acknowledge(job, now)
                else:
                    self.keeping.withdraw(job, identity)
                return job
            if fault(Way.CLIENT_TO_PROXY, parts) is None:
                self.counts["acknowledgements of nothing"] += 1
                return job
        elif type_ in self._others and fault(Way.CLIENT_TO_PROXY, parts) is None:
            return self._others[type_](client, parts, now)
        return self._malformed_client(client, parts, now)

    def _meet(self, identity: bytes, now: float) -> Client:
        if len(self.clients) >= self.settings.max_clients and now >= self._scan_at:
            self._scan_at = now + 1.0  # it takes a while
            self.forget(now + _FORGET_AFTER)
        client = self.clients[identity] = Client(identity, wids(self._key, identity))
        return client

    def _known(self, client: Client, id_: bytes) -> Job | None:
        """The query of this id: the client's own, or its group's."""
        whose = self.groups.find(id_) if len(id_) == MAX_ID and is_grouped(id_) else client
        return whose.jobs.get(id_) if whose is not None else None

    def _asked(self, client: Client, parts: Parts, now: float, parent: bytes) -> About:
        _, id_, argument, function = parts
        grouped = len(id_) == MAX_ID and is_grouped(id_)  # most are shorter
        whose: Client | None = self.groups.find(id_) if grouped else client
        job = whose.jobs.get(id_) if whose is not None else None
        if job is not None:
            return self._asked_again(client, job, argument, function, now)
        if function not in self.registry.functions and (reason := fault(Way.CLIENT_TO_PROXY, parts)):
            return self._malformed_client(client, parts, now, reason)
        group = None
        if grouped:
            whose = group = self.groups.meet(id_)
            if group is not None and group.ended_until > now:
                self.counts["of groups that were ended"] += 1
                self.to_clients.append(
                    (client.identity, [words.RESPONSE_EXCEPTION, id_, texts.GROUP_ENDED], None)
                )
                return texts.GROUP_ENDED.decode()
        busy = self._busy(group, function, len(argument), now)
        if whose is None or busy is not None:
            busy = busy or texts.BUSY_GROUPS
            self.counts["busy"] += 1
            refusal = [words.RESPONSE_EXCEPTION, id_, busy]
            self.to_clients.append((client.identity, refusal, None))
            self.keeping.note(function, refusal, 0.0)
            return busy.decode()
        job = self.keeping.open(whose, id_, function, argument, group)
        if group is not None:
            job.askers[client.identity] = None
        job.parent = parent
        job.asked_at = now
        known = self.registry.functions.get(function)
        if known is not None and known.workers:
            job.coders = (known.argument, known.result)
        if self.settings.acknowledge:
            self.to_clients.append((client.identity, [words.QUERY_RECEIVED, id_], job))
        self.placing.place(job, now)
        return job

    def _asked_again(self, client: Client, job: Job, argument: bytes, function: bytes, now: float) -> About:
        identity = client.identity
        if not job.is_same(argument, function):
            self.counts["ids reused"] += 1
            self.to_clients.append((identity, [words.RESPONSE_EXCEPTION, job.id, texts.ID_REUSED], None))
            return texts.ID_REUSED.decode()
        self.counts["queries sent again"] += 1
        is_new = job.group is not None and identity not in job.askers
        if is_new:
            job.askers[identity] = None
            if len(job.askers) > MAX_ASKERS:
                del job.askers[next(iter(job.askers))]
        answer = job.answer
        if answer is not None and not (is_new or client.may_hear_again(job.wid, len(answer[2]), now)):
            return job  # not acknowledged either: who waits for the answer asks again soon
        if self.settings.acknowledge:
            self.to_clients.append((identity, [words.QUERY_RECEIVED, job.id], job))
        self.keeping.repeat(job, identity)
        return job

    def _busy(self, group: Group | None, function: bytes, size: int, now: float) -> bytes | None:
        if self.draining:
            return texts.BUSY_STOPPING
        room = self.settings.max_bytes
        if group is not None:
            room //= 2
            is_long = group.waiting >= self.settings.group_queue
            if is_long or self.groups.waiting >= self.settings.max_queue // 2:
                return texts.BUSY_QUEUE
        if self.placing.is_full(function, now, group):
            return texts.BUSY_QUEUE
        if group is None and self.placing.is_slow(function, now):
            return texts.BUSY_WAIT
        if self.keeping.open_bytes + size > room and self.keeping.open_jobs:
            return texts.BUSY_BYTES
        return None

    def _coders_asked(self, client: Client, parts: Parts, now: float) -> About:
        _, id_, name = parts
        if self._asks_too_much(client, id_, now):
            return texts.BUSY_QUESTIONS.decode()
        if len(self._coders_wanted) < self.settings.max_queue and self._may_come(name, now):
            self._coders_wanted.append((client, id_, name))
        else:
            self._tell_coders(client, id_, name)
        return None

    def _may_come(self, name: bytes, now: float) -> bool:
        """Whether nobody offers this function now, but somebody may in a moment."""
        function = self.registry.functions.get(name)
        if function is not None and function.workers:
            return False
        return self.placing.may_come(function, now) > 0

    def _tell_coders(self, client: Client, id_: bytes, name: bytes) -> None:
        function = self.registry.functions.get(name)
        if function is not None and function.workers:
            answer = [words.CODER_IDENTITY_FOUND, id_, function.argument, function.result]
        else:
            answer = [words.CODER_IDENTITY_NOT_FOUND, id_]
        self.to_clients.append((client.identity, answer, None))

    def _functions_asked(self, client: Client, parts: Parts, now: float) -> About:
        if self._asks_too_much(client, parts[1], now):
            return texts.BUSY_QUESTIONS.decode()
        listed = self.registry.listed
        if not client.may_repeat(len(listed), now):
            self._refuse_question(client, parts[1])
            return texts.BUSY_QUESTIONS.decode()
        answer = [words.FUNCTIONS_LIST, parts[1], listed]
        self.to_clients.append((client.identity, answer, None))
        return None

    def _asks_too_much(self, client: Client, id_: bytes, now: float) -> bool:
        if client.may_ask(self.settings.max_questions, now):
            return False
        self._refuse_question(client, id_)
        return True

    def _refuse_question(self, client: Client, id_: bytes) -> None:
        self.counts["questions too many"] += 1
        self.to_clients.append((client.identity, [words.RESPONSE_EXCEPTION, id_, texts.BUSY_QUESTIONS], None))

    def _cancelled(self, client: Client, parts: Parts, now: float) -> About:
        id_, identity = parts[1], client.identity
        if is_head(id_):
            self._ended(id_, now)
            return None
        job = self._known(client, id_)
        if job is None or job.state >= DONE or job.cancelled:
            self.counts["cancels of nothing"] += 1
        elif job.group is None or list(job.askers) == [identity]:
            self.placing.cancel(job, now)
        elif identity in job.askers:  # others want it still
            self.keeping.withdraw(job, identity)
            self.to_clients.append((identity, [words.RESPONSE_EXCEPTION, id_, texts.CANCELLED], None))
        else:
            self.counts["cancels of nothing"] += 1
        return job

    def _ended(self, id_: bytes, now: float) -> None:
        """Nobody is to ask anything of this group again."""
        group = self.groups.find(id_)
        if group is None:
            self.counts["cancels of nothing"] += 1
            return
        for job in list(group.jobs.values()):
            if job.state < DONE and not job.cancelled:
                self.placing.cancel(job, now)
        self.keeping.end(group)
        group.ended_until = now + self.settings.group_seconds

    def _malformed_client(self, client: Client, parts: Parts, now: float, reason: str = "") -> str:
        reason = reason or fault(Way.CLIENT_TO_PROXY, parts) or "malformed"
        self.counts["malformed"] += 1
        client.conduct = client.conduct or Conduct(now)
        client.conduct.strike(self.settings.max_strikes, now)
        if id_ := readable_id(parts):
            answer = [words.RESPONSE_EXCEPTION, id_, texts.bad_request(reason)]
            self.to_clients.append((client.identity, answer, None))
        return reason

    def offered(self, worker: Worker) -> None:
        """A worker is there: answer those who wanted to know about its functions."""
        wanted, self._coders_wanted = self._coders_wanted, []
        for question in wanted:
            client, id_, name = question
            if self.registry.functions.get(name) in worker.functions:
                self._tell_coders(client, id_, name)
            else:
                self._coders_wanted.append(question)

    def tick(self, now: float) -> None:
        """Tell those who wait for a function that nobody offered it."""
        wanted, self._coders_wanted = self._coders_wanted, []
        for question in wanted:
            client, id_, name = question
            if self._may_come(name, now):
                self._coders_wanted.append(question)
            else:
                self._tell_coders(client, id_, name)

    def forget(self, now: float) -> None:
        """Forget clients that have nothing here and have said nothing for a while."""
        gone = [
            identity
            for identity, client in self.clients.items()
            if not client.jobs
            and client.heard + _FORGET_AFTER <= now
            and (client.conduct is None or client.conduct.until <= now)
        ]
        for identity in gone:
            del self.clients[identity]
        self.groups.forget(now)
