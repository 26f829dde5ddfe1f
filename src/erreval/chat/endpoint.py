"""An OpenAI-compatible endpoint, named by the environment."""

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

    @property
    def address(self) -> str:
        """The URL as it may be shown: without name and password before the host, and without a query."""
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return "the address in OPENAI_BASE_URL"
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def check(self) -> None:
        """Refuse what cannot be an address or a key, before any library stumbles over it.

        Raises:
            ErrevalError: OPENAI_BASE_URL or OPENAI_API_KEY is malformed.
        """
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ErrevalError(f"{self.address} is no address of a server; write http://HOST:PORT/v1")
        if not self.key.isascii() or not self.key.isprintable():
            raise ErrevalError("OPENAI_API_KEY holds a character that no key has; copy it again")


def endpoint_from_environment() -> Endpoint | None:
    """The endpoint of OPENAI_BASE_URL and OPENAI_API_KEY, or None where neither is set.

    A local server often wants no key; then any text will do, and none is asked for.
    """
    url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if not url and not key:
        return None
    return Endpoint(url or "https://api.openai.com/v1", key or "none")


def list_models(endpoint: Endpoint, seconds: float = 5.0) -> list[str]:
    """The models that the endpoint offers, by name.

    Raises:
        ErrevalError: It cannot be reached, refuses the key, or speaks another protocol.
    """
    endpoint.check()
    import openai

    client = openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.key, timeout=seconds, max_retries=0)
    try:
        return sorted(model.id for model in client.models.list().data)
    except openai.AuthenticationError as error:
        raise ErrevalError(f"{endpoint.address} refuses the key") from error
    except openai.APIConnectionError as error:
        raise ErrevalError(f"{endpoint.address} cannot be reached") from error
    except openai.OpenAIError as error:
        raise ErrevalError(f"{endpoint.address} answers with {type(error).__name__}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ErrevalError(f"{endpoint.address} speaks another protocol") from error
    finally:
        client.close()
