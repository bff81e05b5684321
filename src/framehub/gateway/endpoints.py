"""Where an MFP endpoint leads: to the app, to a remote function, to a service of the hub, in this order."""

from framehub.gateway.functions import FunctionCalls
from framehub.gateway.services import ServiceCalls
from framehub.runtime.endpoints import Endpoints, Handler, StreamHandler
from framehub.runtime.tally import Tally


class GatewayEndpoints(Endpoints):
    """The endpoints of an app, then what the proxy and the hub know of now."""

    def __init__(
        self, app: Endpoints, functions: FunctionCalls | None, services: ServiceCalls | None
    ) -> None:
        super().__init__()
        self._app = app
        self._functions = functions
        self._services = services
        self._raw = app.raw

    @property
    def app(self) -> Endpoints:
        """The app's own."""
        return self._app

    def find(self, endpoint: str) -> Handler | None:
        """The app's handler, or one that calls the function or the service of this name."""
        if (handler := self._app.find(endpoint)) is not None:
            return handler
        functions = self._functions
        if functions is not None and functions.offers(endpoint):
            return functions.call
        if self._services is not None and self._services.find(endpoint) is not None:
            return self._services.call
        # A function whose workers are on their way does not hide a service that is here.
        return functions.call if functions is not None and functions.may_come(endpoint) else None

    def offers(self, endpoint: str) -> bool:
        """Whether somebody is behind this name now: no worker that may come, no service that was there."""
        if self._app.find(endpoint) is not None or self._app.find_stream(endpoint) is not None:
            return True
        if self._functions is not None and self._functions.offers(endpoint):
            return True
        return self._services is not None and self._services.find(endpoint) is not None

    def counted(self) -> Tally:
        """How requests ended, from the first time on that somebody wants to know."""
        if self.tally is None:
            self.tally = Tally(self.offers)
        return self.tally

    def find_stream(self, endpoint: str) -> StreamHandler | None:
        """The app's handler of streams, or one that has a stream with the service of this name."""
        if (handler := self._app.find_stream(endpoint)) is not None:
            return handler
        is_service = self._services is not None and self._services.find(endpoint) is not None
        return self._services.stream if self._services is not None and is_service else None

    @property
    def names(self) -> list[str]:
        """Every endpoint with a handler, every function, and every named function of services, sorted."""
        functions = self._functions.names if self._functions is not None else ()
        services = self._services.names if self._services is not None else ()
        return sorted({*self._app.names, *functions, *services})
