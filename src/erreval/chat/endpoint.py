"""An OpenAI-compatible endpoint: its address and key, and which models it offers."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from erreval.errors import ErrevalError


@dataclass(frozen=True)
class Endpoint:
    """Where chat models are served; the key never shows in a repr or a message."""

    base_url: str = field(repr=False)
    key: str = field(repr=False)
    key_name: str = "OPENAI_API_KEY"
    """Where the key was found, for messages."""

    @property
    def address(self) -> str:
        """The URL as it may be shown: without name and password before the host, and without a query."""
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return "the given address"
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def check(self) -> None:
        """Refuse what cannot be an address or a key, before any library stumbles over it.

        Raises:
            ErrevalError: The address or the key is malformed.
        """
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ErrevalError(f"{self.address} is no address of a server; write http://HOST:PORT/v1")
        if not self.key.isascii() or not self.key.isprintable():
            raise ErrevalError(f"{self.key_name} holds a character that no key has; copy it again")


def endpoint_from_environment() -> Endpoint | None:
    """The endpoint of OPENAI_BASE_URL and OPENAI_API_KEY, or None where neither is set.

    A local server often wants no key; then any text will do, and none is asked for.
    """
    url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if not url and not key:
        return None
    return Endpoint(url or "https://api.openai.com/v1", key or "none")


class ModelListError(ErrevalError):
    """An endpoint that does not list its models; ``status`` is that of its answer, where there is one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def list_models(endpoint: Endpoint, seconds: float = 5.0) -> list[str]:
    """The models that the endpoint offers, by name.

    Raises:
        ErrevalError: The address or the key is malformed.
        ModelListError: The endpoint cannot be reached, refuses the key, or speaks another protocol.
    """
    endpoint.check()
    import openai

    status = None
    client = openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.key, timeout=seconds, max_retries=0)
    try:
        return sorted(model.id for model in client.models.list().data)
    except openai.AuthenticationError:
        status, why = 401, "refuses the key"
    except openai.APIConnectionError:
        why = "cannot be reached"
    except openai.APIStatusError as error:
        status, why = error.status_code, f"answers with {type(error).__name__}"
    except openai.OpenAIError as error:
        why = f"answers with {type(error).__name__}"
    except (AttributeError, TypeError, ValueError):
        why = "speaks another protocol"
    finally:
        client.close()
    # Raised outside of the blocks above: the library's errors quote the server, and a server may quote the key.
    raise ModelListError(f"{endpoint.address} {why}", status)
